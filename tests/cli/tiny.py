"""Encoders and a vocabulary small enough to be understood: every word, or every colour, is one term."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save_file

from tests.vocabulary.sae_folders import change_settings, write
from zipfian.encode.images import decode
from zipfian.storage.regular import sha256_of
from zipfian.types import Encoded
from zipfian.vocabulary._sae_files import STATISTICS_FILE
from zipfian.vocabulary._sae_weights import SaeWeights
from zipfian.vocabulary.labels import Labels, write_labels

WORDS = ("cat", "dog", "fish", "house", "tree", "river", "stone", "bird")
LABELS = ("cat, cats", "dog", "topic: fish, water", "house", "tree <b>", "river", "stone", "bird")
GRID = (4, 4)
BOX = 4
"""Pillow's resampling that averages each cell by itself."""


class TinyEncoder:
    """One token per known word (or per cell of a picture), its vector pointing along its own axis."""

    dim = pooled_dim = len(WORDS)

    def __init__(self, kind: Literal["text", "image"] = "text") -> None:
        self.kind = kind
        self.fingerprint = f"tiny-{kind}:1"

    def encode_documents(self, items: Sequence[Any], *, progress: Any = None) -> list[Encoded]:
        return [self._text(item) if self.kind == "text" else self._image(item) for item in items]

    def encode_queries(self, items: Sequence[Any], *, progress: Any = None) -> list[Encoded]:
        return self.encode_documents(items)

    def try_documents(self, items: Sequence[Any], *, progress: Any = None) -> list[Any]:
        return list(self.encode_documents(items))

    def count_tokens(self, items: Sequence[Any]) -> list[int]:
        return [len(found.vectors) for found in self.encode_documents(items)]

    def _text(self, text: str) -> Encoded:
        found = [(WORDS.index(m[0].lower()), m.span()) for m in re.finditer(r"\w+", text) if m[0].lower() in WORDS]
        axes = [axis for axis, _ in found]
        return self._encoded(axes, [span for _, span in found], None)

    def _image(self, picture: Any) -> Encoded:
        """The axis of a cell is how bright it is."""
        small = np.asarray(decode(picture).resize(GRID, BOX).convert("L"), dtype=np.int64)
        axes = (small * len(WORDS) // 256).ravel().tolist()
        return self._encoded(axes, [divmod(i, GRID[1]) for i in range(len(axes))], GRID)

    def _encoded(self, axes: list[int], places: list[tuple[int, int]], grid: tuple[int, int] | None) -> Encoded:
        vectors = np.eye(self.dim, dtype=np.float32)[axes] if axes else np.zeros((0, self.dim), np.float32)
        pooled = vectors.sum(axis=0) if len(vectors) else np.ones(self.dim, np.float32)
        at = np.array(places, np.int32).reshape(-1, 2)
        return Encoded(vectors, at, np.array(axes, np.int32), pooled / np.linalg.norm(pooled), grid)


def add_counts(folder: Path, df: Sequence[int], documents: int) -> None:
    """In how many documents of its training data each term fired."""
    save_file({"term_df": np.array(df, np.int32)}, folder / STATISTICS_FILE)
    change_settings(folder, statistics={"sha256": sha256_of(folder / STATISTICS_FILE), "texts": documents})


def vocabulary(folder: Path, *, labels: bool = True) -> Path:
    """One term per axis."""
    n = len(WORDS)
    zero = np.zeros(n, np.float32)
    write(folder, SaeWeights(2 * np.eye(n, dtype=np.float32), zero, zero, 1.0, 1, {"name": "tiny"}), "float32")
    if labels:
        kinds = ("lexical", "lexical", "broad", "lexical", "narrow", "lexical", "lexical", "lexical")
        add_counts(folder, (60, 51, 50, 9, 5, 4, 2, 1), 100)
        write_labels(folder, Labels(LABELS, kinds, {}, ((("cat", 0.9),), *((),) * 7)))
    return folder
