"""Vectors of one space for texts and pictures."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from zipfian.encode.registry import EncoderSpec
from zipfian.fields.again import read_again
from zipfian.fields.alignment import Alignment, check_source, make_alignment
from zipfian.fields.base import Source, Takes, Vector, VectorField
from zipfian.fields.item import Item, Stored
from zipfian.fields.places import Spread, spread_over
from zipfian.fields.reader import POOLED, Arrays, Maker, Reader, pooled_arrays
from zipfian.objects import JsonObject

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, init=False)
class Aligned(VectorField):
    """Vectors of one space for texts and pictures: over pictures a text finds them, over texts a picture does.

    Parameters
    ----------
    source
        What of a document it reads: `image` or `text`.
    model
        A folder of heads; by default those that ship.
    encoders
        Other encoders than the default ones: `text=`, `image=`.

    Raises
    ------
    InvalidInput
        Another source, or heads that do not say what they need.

    Examples
    --------
    >>> Aligned().reads, Aligned().takes
    ('image', 'text')
    """

    align: Alignment
    """What leads from texts to pictures and back."""
    source: Source
    """What of a document it reads."""

    kind: ClassVar[str] = "aligned"

    @property
    def weight(self) -> float:
        return 1.0

    def __init__(self, source: Source = "image", *, model: str | None = None, **encoders: Any) -> None:
        check_source(source, "an aligned field")
        self.settle(align=make_alignment(model, "aligned", encoders), source=source)

    @property
    def reads(self) -> Source:
        return self.source

    @property
    def takes(self) -> Takes:
        return "text" if self.source == "image" else "image"

    @property
    def encoder(self) -> EncoderSpec:
        return self.align.picture.encoder if self.source == "image" else self.align.text

    def unseen(self, query: Query) -> tuple[tuple[str, ...], bool]:
        """The words that no caption of its training had; `query` as for `Field`."""
        if self.takes != "text" or query.text is None:
            return (), True
        return self.align.unseen(query.text, self.align.heads().words)

    @property
    def asked_through(self) -> EncoderSpec:
        return self.align.text if self.source == "image" else self.align.picture.encoder

    def reader(self, name: str) -> Reader:
        align = self.align
        if self.source == "text":

            def keep_text(item: Item, arrays: Mapping[str, Arrays]) -> None:
                item.vectors[name] = align.text_vector(arrays[POOLED][POOLED], item.text or "")

            return Reader({POOLED: pooled_arrays}, keep_text)
        makers: dict[str, Maker] = {POOLED: pooled_arrays}
        vocabulary = align.picture.load_vocabulary() if align.heads().uses_terms else None
        if vocabulary is not None:
            makers[vocabulary.compact_form] = vocabulary.compact

        def keep_picture(item: Item, arrays: Mapping[str, Arrays]) -> None:
            terms = None if vocabulary is None else vocabulary.from_compact(arrays[vocabulary.compact_form])
            item.vectors[name] = align.image_vector(arrays[POOLED][POOLED], terms)

        return Reader(makers, keep_picture)

    def embed(self, query: Query) -> Vector:
        seen = query.encoded(self.asked_through)
        if self.takes == "text":
            return self.align.text_vector(seen.pooled, query.text or "")
        terms = self.align.picture.load_vocabulary().terms(seen) if self.align.heads().uses_terms else None
        return self.align.image_vector(seen.pooled, terms)

    def spread(self, stored: Stored, vector: Vector) -> tuple[Spread | None, str]:
        if self.source == "text":
            return None, ""
        encoded, note = read_again(self.encoder, stored)
        if encoded is None:
            return None, note
        heads = self.align.heads()
        terms = self.align.picture.load_vocabulary().terms(encoded) if heads.uses_terms else None
        return spread_over(encoded, *heads.image_slopes(encoded.pooled, terms, vector)), ""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "source": self.source, "align": self.align.to_json()}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        source = found.choice("source", get_args(Source))
        return cls.restored(align=Alignment.from_json(found.value("align"), trusted), source=source)
