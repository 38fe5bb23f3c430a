"""Pooled vectors, compared by cosine."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zipfian import limits
from zipfian.encode.models import GTE_SMALL
from zipfian.encode.named import EncoderLike
from zipfian.encode.registry import EncoderSpec
from zipfian.errors import InvalidInput
from zipfian.fields.base import Source, Takes, Vector, VectorField
from zipfian.fields.item import Item
from zipfian.fields.model import Model, dense_model
from zipfian.fields.reader import POOLED, Arrays, Reader, pooled_arrays, unit
from zipfian.fuse.confidence import Evidence
from zipfian.objects import JsonObject

if TYPE_CHECKING:
    from zipfian.fields.query import Query


MULTILINGUAL = 0.3
ANOTHER_PASS = 0.75
PICTURES = 1.0 / 3.0

CLOSE = Evidence(base=-49.0, share=55.0, lead=45.0)
"""Of gte-small, which gives any two texts a cosine of .75 or more: logistic regressions as in `fuse/confidence.py`, on
CISI, CACM and XQuAD in English. Read as the default encoder's are, off-topic hits would be said to be .85 likely."""


@dataclass(frozen=True, init=False)
class Dense(VectorField):
    """Pooled vectors, compared by cosine.

    Parameters
    ----------
    source
        Chooses the default text or image encoder.
    encoder
        Or another one: an encoder, or its name, as `gte-small`, `open_clip:MobileCLIP-S1` or
        `hf:openai/clip-vit-base-patch32`.
    vector
        Name of the vectors in the index; without source and encoder, of vectors that come with the documents
        (`"default"` for `{"vector": [...]}`). Then queries are vectors, too.

    Raises
    ------
    InvalidInput
        None of the three, a name that no encoder of the package has, or an encoder that reads something else than the
        source.

    Examples
    --------
    >>> Dense("text").takes, Dense(vector="default").takes
    ('text', 'vector')
    >>> Dense("text", encoder="gte-small").encoder.name
    'gte-small'
    """

    model: Model | None = None
    """Its encoder; None for vectors that come with the documents."""
    vector: str | None = None
    """Name under which its vectors are stored; None: the field's own name."""

    kind: ClassVar[str] = "dense"
    pooled: ClassVar[bool] = True

    @property
    def weight(self) -> float:
        """Half, and less where the encoder reads many languages and each of them less well: of .1, .2, .3 and .5, .3
        was best for the worst of seven collections in six languages, on queries with an even sha1. More for gte-small,
        whose vectors are a view of their own: of .25, .5, .75, 1 and 1.5, .75 was best for the mean of CISI, CACM and
        XQuAD in English, likewise (table `quality-weights`), and better than .5 for each. Of pictures half as much as
        their visual words (`Visual.weight`), by the default encoder: others were not measured."""
        if self.encoder is not None and self.encoder.name == "image":
            return PICTURES
        if self._is_gte:
            return ANOTHER_PASS
        return MULTILINGUAL if len(self.languages or ()) > 1 else 0.5

    @property
    def alike(self) -> float:
        """Of gte-small .97: as many pairs of CISI and CACM reach it as reach .9 by the default encoder (641 and 789 of
        6.2 million; by gte-small 9,141 reach .9)."""
        return 0.97 if self._is_gte else super().alike

    @property
    def _is_gte(self) -> bool:
        return self.encoder is not None and self.encoder.name == GTE_SMALL.name

    @property
    def evidence(self) -> Evidence:
        """Encoders differ in the cosines that they give: multilingual ones low, gte-small high; and pictures that are
        alike have many others beside them, so that no lead says anything."""
        if self.reads == "image":
            return Evidence(base=-9.5, share=16.5, lead=0.0)
        if self._is_gte:
            return CLOSE
        if len(self.languages or ()) > 1:
            return Evidence(base=-5.5, share=10.5, lead=20.0)
        return super().evidence

    def __init__(
        self, source: Source | None = None, *, encoder: EncoderLike | None = None, vector: str | None = None
    ) -> None:
        self.settle(model=dense_model(source, encoder), vector=vector)

    def check(self) -> None:
        if self.model is None and self.vector is None:
            raise InvalidInput("a dense field needs source='text' or 'image', an encoder, or the name of given vectors")

    @property
    def reads(self) -> Source | None:
        return None if self.model is None else self.model.encoder.kind

    @property
    def takes(self) -> Takes:
        return "vector" if self.model is None else self.model.encoder.kind

    @property
    def encoder(self) -> EncoderSpec | None:
        return None if self.model is None else self.model.encoder

    @property
    def tokens(self) -> bool:
        return self.model is not None

    def stored_as(self, name: str) -> str:
        return self.vector or name

    def reader(self, name: str) -> Reader | None:
        if self.model is None:
            return None
        stored = self.stored_as(name)

        def keep(item: Item, arrays: Mapping[str, Arrays]) -> None:
            item.vectors[stored] = unit(arrays[POOLED][POOLED])

        return Reader({POOLED: pooled_arrays}, keep)

    def embed(self, query: Query) -> Vector:
        if self.model is None:
            raise InvalidInput("this field has no encoder")
        return unit(query.encoded(self.model.encoder).pooled)

    def to_json(self) -> dict[str, Any]:
        model = None if self.model is None else self.model.to_json()
        return {"kind": self.kind, "model": model, "vector": self.vector}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        model = Model.from_json(found.value("model"), trusted) if found.has("model") else None
        vector = found.text("vector", limits.MAX_NAME_CHARS) if found.has("vector") else None
        if model is not None and model.kind is not None:
            raise InvalidInput(f"field {name!r} of kind dense cannot have a vocabulary of kind {model.kind}")
        if model is None and vector is None:
            raise InvalidInput(f"field {name!r} of kind dense does not say where it comes from")
        return cls.restored(model=model, vector=vector)
