"""Vectors of one space for texts and pictures."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from zipfian.encode.named import EncoderLike
from zipfian.encode.registry import EncoderSpec
from zipfian.errors import InvalidInput
from zipfian.fields.again import read_again
from zipfian.fields.alignment import Alignment, check_source, make_alignment
from zipfian.fields.base import Source, Takes, Vector, VectorField
from zipfian.fields.item import Item, Stored
from zipfian.fields.places import Spread, spread_over
from zipfian.fields.reader import POOLED, Arrays, Maker, Reader, pooled_arrays
from zipfian.fields.shared import Pair, SharedSpace, shared_space
from zipfian.fuse.confidence import Evidence
from zipfian.objects import JsonObject
from zipfian.types import Encoded, Terms

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
    encoder
        A model that puts texts and pictures into one space by itself, in place of heads: a name such as
        `open_clip:MobileCLIP-S1`, its folder, or what `zipfian.encode.hub.dual` gives.
    encoders
        Other encoders than the default ones under the heads: `text=`, `image=`.

    Raises
    ------
    InvalidInput
        Another source, heads that do not say what they need, or heads and a model that needs none.

    Examples
    --------
    >>> Aligned().reads, Aligned().takes
    ('image', 'text')
    """

    align: Alignment | SharedSpace
    """What leads from texts to pictures and back, or the space that a model has for both."""
    source: Source
    """What of a document it reads."""

    kind: ClassVar[str] = "aligned"

    @property
    def weight(self) -> float:
        return 1.0

    @property
    def evidence(self) -> Evidence:
        return self.align.evidence

    def __init__(
        self, source: Source = "image", *, model: str | None = None, encoder: EncoderLike | Pair | None = None,
        **encoders: Any,
    ) -> None:  # fmt: skip
        check_source(source, "an aligned field")
        if encoder is None:
            self.settle(align=make_alignment(model, "aligned", encoders), source=source)
            return
        beside = [*(["model"] if model is not None else []), *encoders]
        if beside:
            raise InvalidInput(
                f"encoder= is a model that reads texts and pictures alike and needs no heads: leave "
                f"{', '.join(beside)} out, or encoder"
            )
        self.settle(align=shared_space(encoder), source=source)

    @property
    def reads(self) -> Source:
        return self.source

    @property
    def takes(self) -> Takes:
        return "text" if self.source == "image" else "image"

    @property
    def encoder(self) -> EncoderSpec:
        return self.align.image if self.source == "image" else self.align.text

    def unseen(self, query: Query) -> tuple[tuple[str, ...], bool]:
        """The words that no caption of its training had; `query` as for `Field`."""
        if self.takes != "text" or query.text is None:
            return (), True
        return self.align.unknown(query.text)

    @property
    def asked_through(self) -> EncoderSpec:
        return self.align.text if self.source == "image" else self.align.image

    def reader(self, name: str) -> Reader:
        align = self.align
        if self.source == "text":

            def keep_text(item: Item, arrays: Mapping[str, Arrays]) -> None:
                item.vectors[name] = align.text_vector(arrays[POOLED][POOLED], item.text or "")

            return Reader({POOLED: pooled_arrays}, keep_text)
        makers: dict[str, Maker] = {POOLED: pooled_arrays}
        vocabulary = align.visual_words()
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
        return self.align.image_vector(seen.pooled, self._terms(seen))

    def spread(self, stored: Stored, vector: Vector) -> tuple[Spread | None, str]:
        if self.source == "text":
            return None, ""
        encoded, note = read_again(self.encoder, stored)
        if encoded is None:
            return None, note
        return spread_over(encoded, *self.align.image_slopes(encoded.pooled, self._terms(encoded), vector)), ""

    def _terms(self, encoded: Encoded) -> Terms | None:
        vocabulary = self.align.visual_words()
        return None if vocabulary is None else vocabulary.terms(encoded)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "source": self.source, "align": self.align.to_json()}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        source = found.choice("source", get_args(Source))
        data = found.value("align")
        shared = isinstance(data, Mapping) and "image" in data  # heads have a "picture", with its visual words
        align = SharedSpace.from_json(data, trusted) if shared else Alignment.from_json(data, trusted)
        return cls.restored(align=align, source=source)
