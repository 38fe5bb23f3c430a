"""What is asked of a collection: a text, a picture, ready-made terms or a vector, and the encoders' passes over it."""

from __future__ import annotations

import copy
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.encode.cache import content_hash
from zipfian.encode.images import ImageSource
from zipfian.encode.registry import EncoderSpec, find
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.adjusting import Factors, adjusted, check_adjust
from zipfian.fields.model import QueryEncoder
from zipfian.fields.reader import unit
from zipfian.storage.regular import sha256_of
from zipfian.types import Encoded, Terms

if TYPE_CHECKING:
    from zipfian.fields.base import Field, PostingField

Vector = npt.NDArray[np.float32]

TAKEN = {"text": "a text", "image": "a picture (image=)", "terms": "ready-made terms", "vector": "a vector"}
"""What a field takes, in a message."""


class Query:
    """One query. An encoder's pass over it is made when a field first needs it, once for all fields."""

    def __init__(
        self, asked: Any, image: Any = None, mode: QueryEncoder | None = None, adjust: Any = None
    ) -> None:  # fmt: skip
        self.text: str | None = None
        self.terms: Any = None
        self.vector: Vector | None = None
        self.image: ImageSource | None = None
        self.mode = mode
        self.adjust: Factors = {} if adjust is None else check_adjust(adjust)
        """What the weights of its terms are multiplied by, by field and term."""
        self.language: str | None = None
        """ISO 639-1 code of the language of the text, once a collection whose fields ask for it has told."""
        self._passes: dict[str, Encoded] = {}
        self._terms: dict[tuple[str, str], Terms] = {}
        self.seconds = [0.0]
        """Spent in encoders so far; shared by all copies."""
        if mode is not None and (not isinstance(mode, str) or mode not in ("encoder", "table")):
            raise InvalidInput(
                f"query_encoder says how a text becomes terms: 'encoder' or 'table', not {shown(mode)}; what to look "
                "for is the first argument"
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
    def of(cls, asked: Any, image: Any = None, mode: QueryEncoder | None = None, adjust: Any = None) -> Query:
        """A query from what a caller gave; one that is a query already keeps its encoders' passes."""
        return asked if isinstance(asked, cls) else cls(asked, image, mode, adjust)

    def asked_by(self, mode: QueryEncoder | None) -> Query:
        """The same query with a mode where it has none; the passes are shared."""
        if mode is None or self.mode is not None:
            return self
        other = copy.copy(self)
        other.mode = mode
        return other

    def key(self) -> list[Any] | None:
        """Equal for queries that are equal; None for those that are not worth remembering."""
        if self.terms is not None or self.vector is not None:
            return None
        try:
            picture = None if self.image is None else content_hash(self.image, "image")
        except OSError:
            return None
        return [self.text, self.mode, picture, self.adjust]

    def terms_in(self, name: str, field: PostingField) -> dict[Any, float]:
        """Its terms in the `field` called `name`, with their weights, muted and boosted as the caller wants them."""
        weights: Mapping[Any, float] = field.terms_of(self)
        return adjusted(weights, self.adjust.get(name, {}))

    def fits(self, field: Field) -> bool:
        """Whether a field can answer it without being named."""
        return getattr(self, field.takes) is not None

    def check(self, name: str, field: Field) -> None:
        """Refuse a field that cannot answer it even when it is named.

        Beside what it takes, any field of vectors takes a vector, and an inverted index its own term ids.
        """
        if self.fits(field) or (self.vector is not None and field.has_vectors):
            return
        if not (self.terms is not None and field.takes_ids):
            raise InvalidInput(f"field {name!r} takes {TAKEN[field.takes]}, not {self.describe()}")

    def picture_sha256(self) -> str:
        """Of the file of the picture that is looked for: by it the picture is known again among those indexed."""
        if self.image is None:
            raise InvalidInput(
                f"exclude_self is about the picture that is looked for, and the query is {self.describe()}; for a "
                "document that is there: similar(id)"
            )
        if isinstance(self.image, np.ndarray):
            raise InvalidInput(
                "exclude_self knows a picture again by its file, and pixels have none: give image= a path"
            )
        if isinstance(self.image, bytes):
            return hashlib.sha256(self.image).hexdigest()
        return sha256_of(self.image, limits.MAX_IMAGE_BYTES)

    def describe(self) -> str:
        """What it is, in a message."""
        parts = {"a text": self.text, "ready-made terms": self.terms, "a vector": self.vector, "a picture": self.image}
        return " and ".join(name for name, value in parts.items() if value is not None)

    def encoded(self, spec: EncoderSpec) -> Encoded:
        """The pass of an encoder over the text or the picture, made once."""
        if spec.fingerprint not in self._passes:
            start = time.perf_counter()
            self._passes[spec.fingerprint] = find(spec).encode_queries([self._content(spec)])[0]
            self.seconds[0] += time.perf_counter() - start
        return self._passes[spec.fingerprint]

    def once(self, key: tuple[str, str], make: Callable[[], Terms]) -> Terms:
        """What `make` makes of it, made once for all fields and searches that ask under the same key.

        The key is a vocabulary's fingerprint and how the query was read.
        """
        if key not in self._terms:
            self._terms[key] = make()
        return self._terms[key]

    def _content(self, spec: EncoderSpec) -> Any:
        return self.text if spec.kind == "text" else self.image


def encode_together(queries: Sequence[Query], fields: Iterable[Field]) -> None:
    """Make the encoders' passes that some fields will need for many queries at once, side by side on all threads."""
    waiting: dict[str, tuple[EncoderSpec, dict[int, Query]]] = {}
    for field in fields:
        for i, query in enumerate(queries):
            spec = field.needs(query)
            if spec is not None and spec.fingerprint not in query._passes and query._content(spec) is not None:
                waiting.setdefault(spec.fingerprint, (spec, {}))[1][i] = query
    for key, (spec, some) in waiting.items():
        start = time.perf_counter()
        passes = find(spec).encode_queries([query._content(spec) for query in some.values()])
        for query, made in zip(some.values(), passes, strict=True):
            query._passes[key] = made
            query.seconds[0] += (time.perf_counter() - start) / len(some)


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
