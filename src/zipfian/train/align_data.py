"""What alignment heads are trained on: captioned pictures through frozen encoders, once, with the encode cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.encoding import arrays_of
from zipfian.encode.base import Encoder, groups
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput, LimitExceeded, ZipfianError
from zipfian.fields.alignment import analyser
from zipfian.fields.reader import POOLED, Maker, pooled_arrays
from zipfian.train.align import CaptionedImages
from zipfian.types import FloatArray, Terms
from zipfian.vocabulary.sae import SaeVocabulary

Captions = Sequence[tuple[Path, Sequence[str]]]
"""Pictures and their captions."""

Progress = Callable[[int], None]
Skipped = Callable[[str, str], None]

LEAST = 4
"""Training captions that must use a word before it is known."""
MEMORY = 8 * 2**30
"""Bytes of matrices at most, unless the caller has more."""


@dataclass(frozen=True, eq=False)
class Words:
    """Known words, and how rare each is among the training captions."""

    words: tuple[str, ...]
    idf: FloatArray

    def matrix(self, captions: Sequence[str]) -> npt.NDArray[np.float16]:
        """Rows of length 1: each known word of a caption once, weighted by idf."""
        number = {word: place for place, word in enumerate(self.words)}
        out = np.zeros((len(captions), len(self.words)), np.float16)
        for row, caption in zip(out, captions, strict=True):
            ids = [number[word] for word in analyser().counts(caption) if word in number]
            if ids:
                row[ids] = self.idf[ids] / np.linalg.norm(self.idf[ids])
        return out


@dataclass(frozen=True, eq=False)
class Split:
    """One part of the data, encoded."""

    features: CaptionedImages
    terms: npt.NDArray[np.float16] | None
    """(pictures, visual words): weights as an index stores them."""

    @property
    def pictures(self) -> int:
        return len(self.features.pictures)

    @property
    def captions(self) -> int:
        """Of each picture."""
        return len(self.features.captions) // self.pictures

    def said(self) -> FloatArray:
        """(pictures, words): the share of a picture's captions that use a word."""
        known = (self.features.words > 0).astype(np.float32)
        mean: FloatArray = known.reshape(self.pictures, self.captions, -1).mean(axis=1)
        return mean


@dataclass(frozen=True, eq=False)
class Encoders:
    """The frozen encoders, and the visual words if there are any."""

    text: Encoder[Any]
    image: Encoder[Any]
    vocabulary: SaeVocabulary | None
    cache: EncodingCache | None = None


def count_words(captions: Captions, least: int = LEAST) -> Words:
    """Words that at least so many captions use."""
    df: Counter[str] = Counter()
    n = 0
    for _, texts in captions:
        for text in texts:
            df.update(set(analyser().counts(text)))
            n += 1
    words = sorted(word for word, count in df.items() if count >= least)
    if not words:
        raise InvalidInput(f"no word stands in {least} of the {n:,} captions: give more captions, or a lower --least")
    counts = np.array([df[word] for word in words], np.float64)
    return Words(tuple(words), np.log(1.0 + (n - counts + 0.5) / (counts + 0.5)).astype(np.float32))


def encode_split(
    captions: Captions, words: Words, encoders: Encoders, *, use_terms: bool = False,
    term_idf: FloatArray | None = None, progress: Progress | None = None, skipped: Skipped | None = None,
) -> tuple[Split, FloatArray | None]:  # fmt: skip
    """Features of one split, and the idf of visual words: that of the training split, or made from this one.

    A picture that cannot be read is left out and named to `skipped`. Every picture has as many captions as most have:
    more are cut, fewer are repeated.
    """
    pooled: list[FloatArray] = []
    terms: list[Terms] = []
    texts: list[str] = []
    per = Counter(len(said) for _, said in captions).most_common(1)[0][0]
    makers: dict[str, Maker] = {POOLED: pooled_arrays}
    vocabulary = encoders.vocabulary
    if vocabulary is not None:
        makers[vocabulary.compact_form] = vocabulary.compact
    done = 0
    for group in groups(path for path, _ in captions):
        for outcome in arrays_of(encoders.image, makers, group, encoders.cache):
            path, said = captions[done]
            done += 1
            if isinstance(outcome, ZipfianError | OSError):
                if skipped is not None:
                    skipped(str(path), str(outcome))
                continue
            pooled.append(outcome[POOLED][POOLED])
            if vocabulary is not None:
                terms.append(vocabulary.from_compact(outcome[vocabulary.compact_form]))
            texts += [said[i % len(said)] for i in range(per)]
        if progress is not None:
            progress(done)
    if not pooled:
        raise InvalidInput("none of the pictures could be read")
    matrix = None if vocabulary is None else _matrix(terms, vocabulary)
    if matrix is not None and term_idf is None:
        df = np.count_nonzero(matrix, axis=0)
        term_idf = np.log(1.0 + (len(matrix) - df + 0.5) / (df + 0.5)).astype(np.float32)
    weighted = None
    if use_terms:
        if matrix is None or term_idf is None:
            raise InvalidInput("heads that read visual words need a vocabulary of them: give one, or term_rank 0")
        weighted = np.sqrt(matrix.astype(np.float32)) * term_idf
        weighted /= np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-9)
        weighted = weighted.astype(np.float16)
    said_vectors = _texts(texts, encoders)
    features = CaptionedImages(np.stack(pooled), said_vectors, words.matrix(texts), weighted)
    return Split(features, matrix), term_idf


def check_memory(captions: Sequence[Captions], words: Words, terms: int, limit: int = MEMORY) -> None:
    """Refuse what would not fit, before hours of encoding: matrices of captions x words and pictures x visual words."""
    said = sum(len(texts) for part in captions for _, texts in part)
    pictures = sum(len(part) for part in captions)
    size = 2 * said * len(words.words) + 10 * pictures * terms
    if size > limit:
        raise LimitExceeded(
            f"{said:,} captions x {len(words.words):,} words and {pictures:,} pictures x {terms:,} visual words take "
            f"{size / 2**30:.1f} GiB, more than {limit / 2**30:.1f}: allow more (--memory), know fewer words (--least) "
            "or use fewer pictures (--limit)"
        )


def impacts(weights: npt.NDArray[Any], bm25: Mapping[str, Any], idf: FloatArray | None) -> FloatArray:
    """What each stored weight adds to a BM25 score, with idf or without."""
    from zipfian.index.phi import apply_phi

    tf = apply_phi(weights.astype(np.float64), bm25["phi"]).astype(np.float32)
    length = tf.sum(axis=1, keepdims=True)
    k1, b = float(bm25["k1"]), float(bm25["b"])
    found: FloatArray = tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / max(float(length.mean()), 1e-9)))
    return found if idf is None else found * idf


def _matrix(terms: Sequence[Terms], vocabulary: SaeVocabulary) -> npt.NDArray[np.float16]:
    """Rows in steps of the index."""
    scale = vocabulary.defaults.scale
    out = np.zeros((len(terms), vocabulary.n_terms), np.float16)
    for row, found in zip(out, terms, strict=True):
        row[found.ids] = np.round(found.weights * scale) / scale
    return out


def _texts(texts: Sequence[str], encoders: Encoders) -> FloatArray:
    """Pooled vectors; each distinct text once."""
    different = list(dict.fromkeys(texts))
    found: dict[str, FloatArray] = {}
    for group in groups(different):
        for text, outcome in zip(
            group, arrays_of(encoders.text, {POOLED: pooled_arrays}, group, encoders.cache), strict=True
        ):
            if isinstance(outcome, ZipfianError | OSError):
                raise InvalidInput(f"the caption {text[:60]!r} cannot be encoded: {outcome}")
            found[text] = outcome[POOLED][POOLED]
    return np.stack([found[text] for text in texts])
