"""What is asked of a collection: a text, a picture, ready-made terms or a vector, and what each field makes of it."""

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
from zipfian.collection.fields import Field
from zipfian.collection.items import check_terms
from zipfian.collection.model import Model, QueryEncoder
from zipfian.encode.cache import content_hash
from zipfian.encode.images import ImageSource
from zipfian.encode.registry import EncoderSpec, find
from zipfian.encode.text import TextEncoder
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.types import Encoded, Terms

Vector = npt.NDArray[np.float32]
Weights = Mapping[str, float] | Mapping[int, float]


class Query:
    """One query. An encoder's pass over it is made when a field first needs it, once for all fields."""

    def __init__(self, asked: Any, image: Any = None, mode: QueryEncoder | None = None) -> None:
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
    def of(cls, asked: Any, image: Any = None, mode: QueryEncoder | None = None) -> Query:
        """A question from what a caller gave; one that is a question already keeps its encoders' passes."""
        return asked if isinstance(asked, cls) else cls(asked, image, mode)

    def asked_by(self, mode: QueryEncoder | None) -> Query:
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

    def fits(self, field: Field) -> bool:
        """Whether a field can answer it without being named."""
        if field.asks_for == "text":
            return self.text is not None
        if field.asks_for == "image":
            return self.image is not None
        return self.terms is not None if field.kind == "terms" else self.vector is not None

    def answers(self, field: Field) -> bool:
        """Whether a field can answer it when it is named: any inverted index also takes its own term ids."""
        if field.kind in ("latent", "visual", "splade", "scalar") and self.terms is not None:
            return True
        return self.fits(field) or (field.has_vectors and self.vector is not None)

    def describe(self) -> str:
        """What it is, in a message."""
        parts = {"a text": self.text, "ready-made terms": self.terms, "a vector": self.vector, "a picture": self.image}
        return " and ".join(name for name, value in parts.items() if value is not None)

    def mode_of(self, field: Field) -> QueryEncoder:
        """How a latent field turns the text into terms."""
        return self.mode or field.query_encoder

    def encoded(self, field: Field) -> Encoded:
        """The pass of the field's encoder over the text or the picture."""
        if field.model is None:
            raise InvalidInput("this field has no encoder")
        return self._encoded(field.model.encoder)

    def _encoded(self, spec: EncoderSpec) -> Encoded:
        if spec.fingerprint not in self._passes:
            start = time.perf_counter()
            self._passes[spec.fingerprint] = find(spec).encode_queries([self._content(spec)])[0]
            self.seconds[0] += time.perf_counter() - start
        return self._passes[spec.fingerprint]

    def _content(self, spec: EncoderSpec) -> Any:
        return self.text if spec.kind == "text" else self.image

    def weights(self, field: Field) -> Weights:
        """The terms of an inverted field and their weights, in the order in which a score is summed."""
        if self.terms is not None:
            terms = check_terms(self.terms, field.n_terms)
            if not len(terms):
                raise InvalidInput("the query has no terms")
        elif field.kind == "words":
            return field.vocabulary.query(self.text or "")
        elif field.kind == "translated" and field.align is not None:
            terms = self._translated(field, field.align)
        elif field.model is None:
            raise InvalidInput(f"this field takes ready-made terms, not {self.describe()}")
        else:
            terms = self._latent(field)
        return dict(zip(terms.ids.tolist(), terms.weights.astype(np.float64).tolist(), strict=True))

    def _latent(self, field: Field) -> Terms:
        """Projected once for all fields and searches that ask the same of the same vocabulary."""
        if field.model is None:
            raise InvalidInput("this field has no vocabulary")
        key = (str(field.model.fingerprint), self.mode_of(field) if field.kind == "latent" else "")
        if key not in self._terms:
            self._terms[key] = self._project(field, field.model)
        return self._terms[key]

    def _project(self, field: Field, model: Model) -> Terms:
        if field.kind == "scalar":
            return model.load_scalar().query_terms(self.encoded(field))
        if field.kind == "splade":
            return model.load_reader().terms(self.encoded(field))
        vocabulary = model.load_vocabulary()
        if field.kind == "latent" and self.mode_of(field) == "table":
            return vocabulary.table_query(self.pieces(field))
        return vocabulary.query(self.encoded(field))

    def _translated(self, field: Field, align: Alignment) -> Terms:
        """Visual words: of the text through the table, or the picture's own."""
        if field.asks_for == "text":
            return align.translate(self.text or "")
        key = (str(align.picture.fingerprint), "")  # as a visual field of the same vocabulary asks
        if key not in self._terms:
            self._terms[key] = align.picture.load_vocabulary().query(self._encoded(align.picture.encoder))
        return self._terms[key]

    def pieces(self, field: Field) -> npt.NDArray[np.int32]:
        """The word pieces of the text, without the network."""
        encoder = find(field.model.encoder) if field.model else None
        if not isinstance(encoder, TextEncoder):
            raise InvalidInput("query_encoder='table' needs a field of the default text encoder; use 'encoder'")
        return encoder.pieces(self.text or "")

    def pooled(self, field: Field) -> Vector:
        """The vector that a dense field compares with."""
        if self.vector is not None:
            return self.vector
        if field.align is None:
            return unit(self.encoded(field).pooled)
        if field.asks_for == "text":
            return field.align.text_vector(self._encoded(field.align.text).pooled, self.text or "")
        seen = self._encoded(field.align.picture.encoder)
        terms = field.align.picture.load_vocabulary().terms(seen) if field.align.heads().uses_terms else None
        return field.align.image_vector(seen.pooled, terms)


def encode_together(questions: Sequence[Query], fields: Iterable[Field]) -> None:
    """Make the encoders' passes that some fields will need for many questions at once, side by side on all threads."""
    specs: dict[str, EncoderSpec] = {}
    for field in fields:
        spec = None if field.model is None else field.model.encoder
        if field.kind == "aligned" and field.align is not None:
            spec = field.align.text if field.asks_for == "text" else field.align.picture.encoder
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
