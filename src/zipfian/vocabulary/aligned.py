"""Texts and pictures in one space: two small heads on frozen encoders, and a table from words to visual words.

Everything here is a handful of matrix products in numpy; training is in `zipfian.train.align`. A text enters as its
pooled vector and its counted words, a picture as its pooled vector and, where the heads were trained with them, its
visual words.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.objects import inner
from zipfian.types import FloatArray, Terms
from zipfian.vocabulary import _aligned_file as file
from zipfian.vocabulary.models import SHIPPED

F64 = npt.NDArray[np.float64]

DEFAULT = "align-flickr8k"
HEAD_PARTS = ("mean", "spread", "linear", "wide", "wide_bias", "narrow", "bias")


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """linear(x) + narrow(relu(wide(x))) of a dense input beside an embedded sparse one, brought to length 1."""

    embed: FloatArray | None
    """(sparse entries, rank), or None where the head reads nothing sparse."""
    mean: FloatArray
    """(dense,): taken from the pooled vector first."""
    spread: FloatArray
    """(dense,): what is left is divided by this. Kept apart from the weights, whose int8 steps it would blow up."""
    linear: FloatArray
    """(out, dense + rank)."""
    wide: FloatArray
    """(hidden, dense + rank)."""
    wide_bias: FloatArray
    narrow: FloatArray
    """(out, hidden)."""
    bias: FloatArray

    def __post_init__(self) -> None:
        rank = 0 if self.embed is None else self.embed.shape[1]
        inputs, hidden, out = self.linear.shape[1], self.wide.shape[0], self.linear.shape[0]
        fits = (
            self.wide.shape[1] == inputs > rank
            and self.mean.shape == self.spread.shape == (inputs - rank,)
            and bool((self.spread > 0).all())
            and self.narrow.shape == (out, hidden)
            and self.wide_bias.shape == (hidden,)
            and self.bias.shape == (out,)
        )
        if not fits:
            raise InvalidInput("the arrays of an alignment head do not fit together: get the folder again")

    @property
    def dense(self) -> int:
        """Width of the pooled vector it reads."""
        return int(self.linear.shape[1]) - (0 if self.embed is None else int(self.embed.shape[1]))

    @property
    def out(self) -> int:
        """Width of what it gives."""
        return int(self.linear.shape[0])

    def __call__(self, pooled: npt.ArrayLike, ids: npt.NDArray[Any], weights: FloatArray, what: str) -> FloatArray:
        """The vector of one item."""
        x = np.asarray(pooled, dtype=np.float32)
        if x.shape != (self.dense,):
            raise InvalidInput(f"a {what}'s pooled vector must have {self.dense} numbers, not the shape {x.shape}")
        if not np.isfinite(x).all():
            raise InvalidInput(f"a {what}'s pooled vector holds values that are not finite: encode it again")
        x = (x - self.mean) / self.spread
        if self.embed is not None:
            x = np.concatenate(
                [x, weights @ self.embed[ids] if len(ids) else np.zeros(self.embed.shape[1], np.float32)]
            )
        found: FloatArray = self.linear @ x + self.narrow @ np.maximum(self.wide @ x + self.wide_bias, 0.0) + self.bias
        length = float(np.linalg.norm(found))
        return found / np.float32(length) if length > 0 else found

    def slopes(self, pooled: FloatArray, sparse: F64, towards: F64) -> tuple[F64, float]:
        """The product of what the head gives and `towards` as a sum: what each number of the pooled vector is
        multiplied by, and the rest. `sparse` is what the head reads beside it, embedded.

        For one item the head is linear: a relu passes its input on or stops it, and the length that the result is
        divided by is one number.
        """
        inputs = np.concatenate([(pooled.astype(np.float64) - self.mean) / self.spread, sparse])
        hidden = self.wide @ inputs + self.wide_bias
        found = self.linear @ inputs + self.narrow @ np.maximum(hidden, 0.0) + self.bias
        length = float(np.linalg.norm(found)) or 1.0
        passed = (towards @ self.narrow) * (hidden > 0)
        back = (towards @ self.linear + passed @ self.wide) / length
        slopes = back[: self.dense] / self.spread
        rest = back[self.dense :] @ sparse + (passed @ self.wide_bias + towards @ self.bias) / length
        return slopes, float(rest - slopes @ self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class AlignedHeads:
    """Turns what two frozen encoders say into vectors whose cosine says whether text and picture belong together.

    >>> heads = AlignedHeads.load()                                         # doctest: +SKIP
    >>> heads.text_vector(text.pooled, Words().counts("a dog")) @ heads.image_vector(picture.pooled)  # doctest: +SKIP
    """

    text: tuple[Head, ...]
    """One or several heads; their vectors are put side by side, which averages their cosines."""
    image: tuple[Head, ...]
    idf: FloatArray
    words: Mapping[str, int]
    """Rows of the words the text head knows."""
    term_idf: FloatArray | None
    """Weight of each visual word where the image head reads them."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, model: str | Path = DEFAULT) -> AlignedHeads:
        """A shipped alignment by name, or one in a folder."""
        tensors, settings = file.read(find(model))
        members = settings.get("members")
        if isinstance(members, bool) or not isinstance(members, int) or not 1 <= members <= limits.MAX_ALIGNED_MEMBERS:
            raise InvalidInput(f"'members' of an alignment must be 1 to {limits.MAX_ALIGNED_MEMBERS}, not {members!r}")
        words = {word: place for place, word in enumerate(settings["words"])}
        idf = file.unpack(tensors, "words.idf")
        text = tuple(_head(tensors, f"text.{number}", "words", len(idf)) for number in range(members))
        terms = file.unpack(tensors, "terms.idf") if "terms.idf" in tensors else None
        known = 0 if terms is None else len(terms)
        image = tuple(_head(tensors, f"image.{number}", "terms", known) for number in range(members))
        if len(words) != len(settings["words"]) or idf.shape != (len(words),):
            raise InvalidInput("the words of the alignment do not fit its arrays: get the folder again")
        if any(one.out != other.out for one, other in zip(text, image, strict=True)):
            raise InvalidInput("the two heads of the alignment give vectors of different widths")
        return cls(text, image, idf, words, terms, settings)

    @property
    def dim(self) -> int:
        """Width of the common space."""
        return sum(head.out for head in self.text)

    @property
    def uses_terms(self) -> bool:
        """Whether `image_vector` wants the picture's visual words too."""
        return self.term_idf is not None

    @property
    def fingerprint(self) -> str:
        """Name and content."""
        return _fingerprint(self.settings)

    def check_encoders(self, *, text: str | None = None, image: str | None = None) -> None:
        """Compare encoder fingerprints with those the heads were trained on."""
        for what, given in (("text", text), ("image", image)):
            known = inner(self.settings, "encoders", what)
            allowed = {known.get("fingerprint"), *inner(known, "also").values()} - {None}
            if given is not None and allowed and given not in allowed:
                raise FingerprintMismatch(
                    f"the alignment was trained on vectors of the {what} encoder {known.get('fingerprint')}, not of "
                    f"{given}: encode with that one, or train an alignment for yours (zipfian.train.align)"
                )

    def text_vector(self, pooled: npt.ArrayLike, words: Mapping[str, float]) -> FloatArray:
        """Length 1, from the text encoder's pooled vector and the text's words (any counts; each is used once)."""
        ids = np.array(sorted(self.words[word] for word in words if word in self.words), dtype=np.int64)
        return _together(self.text, pooled, ids, _unit(self.idf[ids]), "text")

    def image_vector(self, pooled: npt.ArrayLike, terms: Terms | None = None) -> FloatArray:
        """Length 1, from the image encoder's pooled vector and the picture's visual words if the heads use them."""
        return _together(self.image, pooled, *self._visual(terms), "picture")

    def image_slopes(self, pooled: FloatArray, terms: Terms | None, towards: npt.ArrayLike) -> tuple[F64, float]:
        """The cosine of a picture and `towards`, a vector of length 1, as a sum over the picture's pooled vector.

        Returns `slopes` and `rest` with cosine = slopes @ pooled + rest but for rounding. What the heads make of visual
        words is in the rest.
        """
        ids, weights = self._visual(terms)
        directions = np.split(np.asarray(towards, np.float64), np.cumsum([head.out for head in self.image])[:-1])
        slopes, rest = np.zeros(len(pooled)), 0.0
        for head, direction in zip(self.image, directions, strict=True):
            sparse = np.zeros(0) if head.embed is None else weights.astype(np.float64) @ head.embed[ids]
            own, constant = head.slopes(pooled, sparse, direction)
            slopes, rest = slopes + own, rest + constant
        length = math.sqrt(len(self.image))  # of the heads' vectors, each of length 1, side by side
        return slopes / length, rest / length

    def _visual(self, terms: Terms | None) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """The visual words that the heads read, weighed; none where they read none."""
        ids, weights = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if self.term_idf is not None:
            if terms is None:
                raise InvalidInput("these heads were trained with visual words: give the picture's terms too")
            if len(terms) and not 0 <= int(terms.ids[0]) <= int(terms.ids[-1]) < len(self.term_idf):
                raise InvalidInput(
                    f"the picture has visual word {int(terms.ids[-1])}, the heads know {len(self.term_idf):,}: "
                    f"use the vocabulary {inner(self.settings, 'terms').get('vocabulary')}"
                )
            ids = terms.ids.astype(np.int64)
            weights = _unit(np.sqrt(terms.weights) * self.term_idf[ids])
        return ids, weights


@dataclass(frozen=True, eq=False)
class TranslationTable:
    """What pictures usually show when their captions use a word: rows of visual words, learnt by ridge regression."""

    words: Mapping[str, int]
    term_ids: npt.NDArray[np.uint16]
    """(words, row length): visual words, strongest first."""
    term_weights: FloatArray
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, model: str | Path = DEFAULT) -> TranslationTable:
        """The table of a shipped alignment by name, or of one in a folder."""
        tensors, settings = file.read(find(model))
        words = {word: place for place, word in enumerate(settings["words"])}
        ids, weights = tensors.get("table.terms"), file.unpack(tensors, "table.weights")
        if ids is None or ids.shape != weights.shape or ids.ndim != 2 or len(ids) != len(words):
            raise InvalidInput("the table of the alignment does not fit its words: get the folder again")
        return cls(words, ids, weights, settings)

    @property
    def fingerprint(self) -> str:
        """Name and content."""
        return _fingerprint(self.settings)

    def row(self, word: str) -> Terms:
        """The visual words of one word; empty for a word the table does not know."""
        return self.terms({word: 1.0})

    def words_of(self, term: int) -> list[tuple[str, float]]:
        """The words whose rows hold a visual word, with their weights, strongest first: what it may be called."""
        terms, order = self._by_term
        if not len(terms) or term > int(terms[-1]):
            return []
        key = terms.dtype.type(term)  # of another type, the whole array would be converted for every question
        first, last = np.searchsorted(terms, key, "left"), np.searchsorted(terms, key, "right")
        names, width = self._names, self.term_ids.shape[1]
        weights = self.term_weights.ravel()[order[first:last]].tolist()
        rows = (order[first:last] // width).tolist()
        found = ((names[row], weight) for row, weight in zip(rows, weights, strict=True) if weight > 0)
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    @cached_property
    def _by_term(self) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
        """All entries in the order of their visual words: those, and where each entry stands."""
        flat = self.term_ids.ravel()
        order = np.argsort(flat, kind="stable")
        return flat[order], order

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self.words, key=lambda word: self.words[word])

    def terms(self, words: Mapping[str, float]) -> Terms:
        """The visual words of a text: the rows of its known words, summed (each word once)."""
        found = sorted(self.words[word] for word in words if word in self.words)
        weights = self.term_weights[found].ravel()
        known = weights > 0
        ids, place = np.unique(self.term_ids[found].ravel()[known], return_inverse=True)
        sums = np.bincount(place, weights=weights[known], minlength=len(ids))
        return Terms(ids.astype(np.int32), sums.astype(np.float32))


def is_shipped(model: str | Path) -> bool:
    """Whether it is the name of an alignment that came with this installation."""
    return isinstance(model, str) and model in {path.parent.name for path in SHIPPED.glob(f"*/{file.SETTINGS_FILE}")}


def fingerprint_of(model: str | Path) -> str:
    """Of the heads or the table in a folder, from their settings alone: no weights are read."""
    return _fingerprint(file.read_about(find(model)))


def find(model: str | Path) -> Path:
    """The folder of an alignment: a shipped name first, a folder second."""
    if is_shipped(model):
        return SHIPPED / model
    folder = Path(model).expanduser()
    if (folder / file.SETTINGS_FILE).is_file():
        return folder
    raise InvalidInput(f"{model} is neither a shipped alignment nor a folder with a {file.SETTINGS_FILE}")


def _head(tensors: Mapping[str, npt.NDArray[Any]], name: str, sparse: str, entries: int) -> Head:
    embed = file.unpack(tensors, f"{name}.{sparse}") if entries else None
    if embed is not None and (embed.ndim != 2 or len(embed) != entries):
        raise InvalidInput(f"the {sparse} of the alignment do not fit its arrays: get the folder again")
    return Head(embed, *(file.unpack(tensors, f"{name}.{part}") for part in HEAD_PARTS))


def _together(
    heads: tuple[Head, ...], pooled: npt.ArrayLike, ids: npt.NDArray[Any], weights: FloatArray, what: str
) -> FloatArray:
    return _unit(np.concatenate([head(pooled, ids, weights, what) for head in heads]))


def _unit(values: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(values))
    return (values / np.float32(length)).astype(np.float32) if length > 0 else values.astype(np.float32)


def _fingerprint(settings: Mapping[str, Any]) -> str:
    content = json.dumps([settings.get("sha256"), settings.get("words")], separators=(",", ":"))
    return f"{settings.get('name') or 'align'}:{hashlib.sha256(content.encode()).hexdigest()[:20]}"
