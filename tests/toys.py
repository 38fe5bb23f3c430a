"""Small real parts for tests: encoders without a network behind them, and an autoencoder over their vectors.

They keep every promise of the real ones (places, pooled vectors, fingerprints, errors), so that a collection cannot
tell the difference, and take microseconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zipfian.encode.base import Outcome, Progress
from zipfian.encode.images import decode
from zipfian.errors import ZipfianError
from zipfian.types import Encoded
from zipfian.vocabulary import _aligned_file
from zipfian.vocabulary._sae_weights import SaeWeights, save_weights

DIM = 16
MEANINGS = {"dog": 1, "puppy": 1, "hound": 1, "cat": 2, "kitten": 2, "car": 3, "automobile": 3, "sun": 4, "light": 4}
"""Words of one meaning share a direction: what an encoder that understands would do."""


class _Toy:
    def __init__(self, name: str = "toy") -> None:
        self.name = name
        self.seen: list[Any] = []
        """Everything that was encoded, in order."""

    @property
    def dim(self) -> int:
        return DIM

    @property
    def pooled_dim(self) -> int:
        return DIM

    def encode_documents(self, items: Sequence[Any], *, progress: Progress | None = None) -> list[Encoded]:
        out = []
        for outcome in self.try_documents(items, progress=progress):
            if not isinstance(outcome, Encoded):
                raise outcome
            out.append(outcome)
        return out

    def encode_queries(self, items: Sequence[Any], *, progress: Progress | None = None) -> list[Encoded]:
        return self.encode_documents(items, progress=progress)

    def try_documents(self, items: Sequence[Any], *, progress: Progress | None = None) -> list[Outcome]:
        out: list[Outcome] = []
        for item in items:
            self.seen.append(item)
            try:
                out.append(self.one(item))
            except (ZipfianError, OSError) as error:
                out.append(error)
        return out

    def one(self, item: Any) -> Encoded:
        raise NotImplementedError


class ToyText(_Toy):
    """One vector per word: its meaning, and a little of its own."""

    @property
    def kind(self) -> Literal["text", "image"]:
        return "text"

    @property
    def fingerprint(self) -> str:
        return f"{self.name}-text:1"

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+", item)) for item in items]

    def one(self, item: str) -> Encoded:
        found = [(m.group().lower(), m.start(), m.end()) for m in re.finditer(r"\w+", item)]
        vectors = np.zeros((len(found), DIM), np.float32)
        for row, (word, _, _) in zip(vectors, found, strict=True):
            own = 5 + int(hashlib.sha256(word.encode()).hexdigest(), 16) % (DIM - 5)
            row[own] = 1.0
            if word in MEANINGS:
                row[MEANINGS[word]] = 3.0
        places = np.array([(start, end) for _, start, end in found], np.int32).reshape(-1, 2)
        pooled = vectors.sum(axis=0) if len(found) else np.zeros(DIM, np.float32)
        length = float(np.linalg.norm(pooled))
        return Encoded(vectors, places, np.zeros(len(found), np.int32), (pooled / (length or 1.0)).astype(np.float32))


class ToyImage(_Toy):
    """A 4 x 4 grid of patches; the colour of each decides its direction."""

    @property
    def kind(self) -> Literal["text", "image"]:
        return "image"

    @property
    def fingerprint(self) -> str:
        return f"{self.name}-image:1"

    def count_tokens(self, items: Sequence[Any]) -> list[int]:
        return [16] * len(items)

    def one(self, item: Any) -> Encoded:
        pixels = np.asarray(decode(item).resize((4, 4), 0), np.float32).reshape(16, 3) / 255.0
        vectors = np.zeros((16, DIM), np.float32)
        vectors[:, 1:4] = 3.0 * pixels
        vectors[:, 4] = 1.0 - pixels.max(axis=1)
        places = np.array([(i // 4, i % 4) for i in range(16)], np.int32)
        pooled = vectors.mean(axis=0)
        return Encoded(vectors, places, np.full(16, -1, np.int32), pooled / np.linalg.norm(pooled), (4, 4))


def toy_vocabulary(folder: Path, k: int = 2) -> Path:
    """An autoencoder whose terms are the directions of the toys' vectors."""
    weights = SaeWeights(np.eye(DIM, dtype=np.float32), np.zeros(DIM, np.float32), np.zeros(DIM, np.float32), 1.0, k)
    save_weights(weights, folder, "float32")
    return folder


def toy_alignment(folder: Path, vocabulary: Path, also: Sequence[str] = ()) -> Path:
    """Heads that leave the toys' vectors as they are, and a table from words to the directions of colours.

    It was taught the stems `also`, too, but has no colour for them.
    """
    seen = {"blue": 3, "dog": 1, "green": 2, "red": 1}
    words = sorted({*seen, *also})
    rows = np.array([[seen.get(word, 0), 0] for word in words], np.uint16)
    weights = np.array([[1.0 if word in seen else 0.0, 0.0] for word in words], np.float32)
    same = np.eye(DIM, dtype=np.float32)
    head = {
        "mean": np.zeros(DIM, np.float32), "spread": np.ones(DIM, np.float32), "linear": same,
        "wide": np.zeros((1, DIM), np.float32), "wide_bias": np.zeros(1, np.float32),
        "narrow": np.zeros((DIM, 1), np.float32), "bias": np.zeros(DIM, np.float32),
    }  # fmt: skip
    wider = {name: np.pad(a, ((0, 0), (0, 1))) if name in ("linear", "wide") else a for name, a in head.items()}
    tensors = {
        "words.idf": np.ones(len(words), np.float32), "text.0.words": np.zeros((len(words), 1), np.float32),
        "table.terms": rows, "table.weights": weights,
        **{f"text.0.{name}": a for name, a in wider.items()}, **{f"image.0.{name}": a for name, a in head.items()},
    }  # fmt: skip
    settings = {"name": "toy", "members": 1, "words": words, "terms": {"vocabulary": str(vocabulary)}}
    _aligned_file.write(folder, tensors, settings)
    return folder
