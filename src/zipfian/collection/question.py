"""What is asked of a collection: a text, a picture, ready-made terms or a vector, and what each leg makes of it."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.collection.alignment import Alignment
from zipfian.collection.encoding import unit
from zipfian.collection.items import check_terms
from zipfian.collection.legs import Leg
from zipfian.collection.model import Model, QueryMode
from zipfian.encode.cache import content_hash
from zipfian.encode.images import ImageSource
from zipfian.encode.registry import EncoderSpec, find
from zipfian.encode.text import TextEncoder
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.types import Encoded, Terms

Vector = npt.NDArray[np.float32]
Weights = Mapping[str, float] | Mapping[int, float]


class Question:
    """One query. An encoder's pass over it is made when a leg first needs it, once for all legs."""

    def __init__(self, asked: Any, image: Any = None, mode: QueryMode | None = None) -> None:
        self.text: str | None = None
        self.terms: Any = None
        self.vector: Vector | None = None
        self.image: ImageSource | None = None
        self.mode = mode
        self._passes: dict[str, Encoded] = {}
        self._terms: dict[tuple[str, str], Terms] = {}
        self.seconds = [0.0]
        """Spent in encoders so far; shared by all copies."""
        if mode is not None and (not isinstance(mode, str) or mode not in ("encoder", "table")):
            raise InvalidInput(
                f"query says how a text becomes terms: 'encoder' or 'table', not {shown(mode)}; what to look for is "
                "the first argument"
            )
        if isinstance(asked, str):
            if not asked or asked.isspace():
                raise InvalidInput("the query is empty")
            if len(asked) > limits.MAX_QUERY_CHARS:
                raise LimitExceeded(f"a query of {len(asked):,} characters, the limit is {limits.MAX_QUERY_CHARS:,}")
            self.text = asked
        elif isinstance(asked, np.ndarray):
            self.vector = _check_vector(asked)
        elif isinstance(asked, Terms | Mapping | tuple | list):
            self.terms = asked
        elif asked is not None:
            raise InvalidInput(
                f"a query is a text, Terms, (ids, weights), a mapping id -> weight or a vector, not "
                f"{type(asked).__name__}; a picture goes into image="
            )
        if image is not None:
            if not isinstance(image, str | os.PathLike | bytes | np.ndarray):
                raise InvalidInput(f"image must be a path, bytes or an array of pixels, not {type(image).__name__}")
            self.image = image
        if asked is None and image is None:
            raise InvalidInput("nothing to look for: give a text, a picture (image=) or both")

    @classmethod
    def of(cls, asked: Any, image: Any = None, mode: QueryMode | None = None) -> Question:
        """A question from what a caller gave; one that is a question already keeps its encoders' passes."""
        return asked if isinstance(asked, cls) else cls(asked, image, mode)

    def asked_by(self, mode: QueryMode | None) -> Question:
        """The same question with a mode where it has none; the passes are shared."""
        if mode is None or self.mode is not None:
            return self
        other = copy.copy(self)
        other.mode = mode
        return other

    def key(self) -> list[Any] | None:
        """Equal for questions that are equal; None for those that are not worth remembering."""
        if self.terms is not None or self.vector is not None:
            return None
        try:
            picture = None if self.image is None else content_hash(self.image, "image")
        except OSError:
            return None
        return [self.text, self.mode, picture]

    def fits(self, leg: Leg) -> bool:
        """Whether a leg can answer it without being named."""
        if leg.asks_for == "text":
            return self.text is not None
        if leg.asks_for == "image":
            return self.image is not None
        return self.terms is not None if leg.kind == "terms" else self.vector is not None

    def answers(self, leg: Leg) -> bool:
        """Whether a leg can answer it when it is named: any inverted index also takes its own term ids."""
        if leg.kind in ("latent", "visual", "splade", "scalar") and self.terms is not None:
            return True
        return self.fits(leg) or (leg.has_vectors and self.vector is not None)

    def describe(self) -> str:
        """What it is, in a message."""
        parts = {"a text": self.text, "ready-made terms": self.terms, "a vector": self.vector, "a picture": self.image}
        return " and ".join(name for name, value in parts.items() if value is not None)

    def mode_of(self, leg: Leg) -> QueryMode:
        """How a latent leg turns the text into terms."""
        return self.mode or leg.query

    def encoded(self, leg: Leg) -> Encoded:
        """The pass of the leg's encoder over the text or the picture."""
        if leg.model is None:
            raise InvalidInput("this leg has no encoder")
        return self._encoded(leg.model.encoder)

    def _encoded(self, spec: EncoderSpec) -> Encoded:
        if spec.fingerprint not in self._passes:
            start = time.perf_counter()
            self._passes[spec.fingerprint] = find(spec).encode_queries([self._content(spec)])[0]
            self.seconds[0] += time.perf_counter() - start
        return self._passes[spec.fingerprint]

    def _content(self, spec: EncoderSpec) -> Any:
        return self.text if spec.kind == "text" else self.image

    def weights(self, leg: Leg) -> Weights:
        """The terms of an inverted leg and their weights, in the order in which a score is summed."""
        if self.terms is not None:
            terms = check_terms(self.terms, leg.n_terms)
            if not len(terms):
                raise InvalidInput("the query has no terms")
        elif leg.kind == "words":
            return leg.vocabulary.query(self.text or "")
        elif leg.kind == "translated" and leg.align is not None:
            terms = self._translated(leg, leg.align)
        elif leg.model is None:
            raise InvalidInput(f"this leg takes ready-made terms, not {self.describe()}")
        else:
            terms = self._latent(leg)
        return dict(zip(terms.ids.tolist(), terms.weights.astype(np.float64).tolist(), strict=True))

    def _latent(self, leg: Leg) -> Terms:
        """Projected once for all legs and searches that ask the same of the same vocabulary."""
        if leg.model is None:
            raise InvalidInput("this leg has no vocabulary")
        key = (str(leg.model.fingerprint), self.mode_of(leg) if leg.kind == "latent" else "")
        if key not in self._terms:
            self._terms[key] = self._project(leg, leg.model)
        return self._terms[key]

    def _project(self, leg: Leg, model: Model) -> Terms:
        if leg.kind == "scalar":
            return model.load_scalar().query_terms(self.encoded(leg))
        if leg.kind == "splade":
            return model.load_reader().terms(self.encoded(leg))
        vocabulary = model.load_vocabulary()
        if leg.kind == "latent" and self.mode_of(leg) == "table":
            return vocabulary.table_query(self.pieces(leg))
        return vocabulary.query(self.encoded(leg))

    def _translated(self, leg: Leg, align: Alignment) -> Terms:
        """Visual words: of the text through the table, or the picture's own."""
        if leg.asks_for == "text":
            return align.translate(self.text or "")
        key = (str(align.picture.fingerprint), "")  # as a visual leg of the same vocabulary asks
        if key not in self._terms:
            self._terms[key] = align.picture.load_vocabulary().query(self._encoded(align.picture.encoder))
        return self._terms[key]

    def pieces(self, leg: Leg) -> npt.NDArray[np.int32]:
        """The word pieces of the text, without the network."""
        encoder = find(leg.model.encoder) if leg.model else None
        if not isinstance(encoder, TextEncoder):
            raise InvalidInput("query='table' needs a leg of the default text encoder; use query='encoder'")
        return encoder.pieces(self.text or "")

    def pooled(self, leg: Leg) -> Vector:
        """The vector that a dense leg compares with."""
        if self.vector is not None:
            return self.vector
        if leg.align is None:
            return unit(self.encoded(leg).pooled)
        if leg.asks_for == "text":
            return leg.align.text_vector(self._encoded(leg.align.text).pooled, self.text or "")
        seen = self._encoded(leg.align.picture.encoder)
        terms = leg.align.picture.load_vocabulary().terms(seen) if leg.align.heads().uses_terms else None
        return leg.align.image_vector(seen.pooled, terms)


def encode_together(questions: Sequence[Question], legs: Iterable[Leg]) -> None:
    """Make the encoders' passes that some legs will need for many questions at once, side by side on all threads."""
    specs: dict[str, EncoderSpec] = {}
    for leg in legs:
        spec = None if leg.model is None else leg.model.encoder
        if leg.kind == "aligned" and leg.align is not None:
            spec = leg.align.text if leg.asks_for == "text" else leg.align.picture.encoder
        if spec is not None:
            specs[spec.fingerprint] = spec
    for key, spec in specs.items():
        waiting = [q for q in questions if key not in q._passes and q._content(spec) is not None]
        start = time.perf_counter()
        passes = find(spec).encode_queries([q._content(spec) for q in waiting]) if waiting else []
        for question, made in zip(waiting, passes, strict=True):
            question._passes[key] = made
            question.seconds[0] += (time.perf_counter() - start) / len(waiting)


def _check_vector(values: npt.NDArray[Any]) -> Vector:
    if values.ndim != 1 or not 1 <= len(values) <= limits.MAX_VECTOR_DIM or values.dtype.kind not in "fiu":
        raise InvalidInput(f"a query vector is a row of numbers, not {values.dtype} of shape {values.shape}")
    if not np.isfinite(values).all():
        raise InvalidInput("the query vector holds a number that is not finite")
    with np.errstate(over="ignore"):
        vector = values.astype(np.float32)
    if not np.isfinite(vector).all():  # a direction needs no number that large
        vector = (values / np.abs(values).max()).astype(np.float32)
    return unit(vector)
