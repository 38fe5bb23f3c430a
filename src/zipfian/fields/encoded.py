"""Posting fields that an encoder feeds: a vocabulary reads the vectors of its tokens, or the pooled one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zipfian.encode.registry import EncoderSpec
from zipfian.errors import InvalidInput
from zipfian.fields.again import read_again
from zipfian.fields.base import PostingField, Source, Takes
from zipfian.fields.item import Item, Stored
from zipfian.fields.model import Model
from zipfian.fields.places import CHANGED, Places, places_of
from zipfian.fields.reader import Reader
from zipfian.fields.terms import store_terms
from zipfian.objects import JsonObject
from zipfian.retrieve.statistics import Term
from zipfian.types import Encoded, Terms
from zipfian.vocabulary import Vocabulary

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, kw_only=True)
class EncodedField(PostingField):
    """A field whose terms a vocabulary makes of an encoder's pass."""

    model: Model
    """Encoder and vocabulary."""

    vocabulary_kind: ClassVar[str]
    """Of the vocabulary, as its settings name it."""
    encoder_kind: ClassVar[Source | None] = None
    """What its encoder must read; None: either."""
    labelled: ClassVar[bool] = True
    located: ClassVar[bool] = True
    token_bytes: ClassVar[int] = 0
    """What the cache keeps for each token, about."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """What turns the encoder's results into terms; loaded at first use."""

    @property
    def reads(self) -> Source:
        return self.model.encoder.kind

    @property
    def takes(self) -> Takes:
        return self.model.encoder.kind

    @property
    def encoder(self) -> EncoderSpec:
        return self.model.encoder

    def reader(self, name: str) -> Reader:
        vocabulary = self.vocabulary
        form = vocabulary.compact_form
        return Reader(
            {form: vocabulary.compact},
            lambda item, arrays: store_terms(item, name, self, vocabulary.from_compact(arrays[form])),
            self.token_bytes,
        )

    def project(self, query: Query) -> Terms:
        """Projected once for all fields and searches that ask the same of the same vocabulary."""
        key = (str(self.model.fingerprint), "")
        return query.once(key, lambda: self.asked(query.encoded(self.model.encoder)))

    @abstractmethod
    def asked(self, encoded: Encoded) -> Terms:
        """The terms of a query, from the encoder's pass over it."""

    def label(self, term: Term) -> str:
        return self.vocabulary.label(int(term))

    def places(self, stored: Stored, wanted: Collection[Term], weights: Mapping[Term, float]) -> tuple[Places, str]:
        if not self.located:
            return {}, ""
        encoded, note = read_again(self.model.encoder, stored)
        if encoded is None:
            return {}, note
        vocabulary = self.vocabulary
        again = Item("", None, {}, {}, {}, 0)
        store_terms(again, "again", self, vocabulary.terms(encoded))
        now = dict(zip(*(a.tolist() for a in again.terms["again"]), strict=True))
        if any(abs(now.get(term, 0) / self.scale - weight) > 1.5 / self.scale for term, weight in weights.items()):
            return {}, CHANGED.format(what="picture" if self.reads == "image" else "text")
        fired = vocabulary.evidence(encoded, [int(t) for t in wanted])
        return {term: places_of(encoded, rows, stored.text, stored.language) for term, rows in fired.items()}, ""

    def query_places(self, query: Query, wanted: Collection[Term]) -> Places:
        if not self.located:
            return {}
        encoded = query.encoded(self.model.encoder)
        fired = self.vocabulary.evidence(encoded, [int(t) for t in wanted], asked=True)
        return {term: places_of(encoded, rows, query.text, query.language) for term, rows in fired.items()}

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "model": self.model.to_json()}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        return cls.restored(**cls.parts(name, found, trusted))

    @classmethod
    def parts(cls, name: str, found: JsonObject, trusted: Container[str]) -> dict[str, Any]:
        """What was `found` in a manifest of the field `name`, checked: the vocabulary fits the kind, the encoder what
        it reads; models may be `trusted`."""
        common, model = cls.common(found), Model.from_json(found.value("model"), trusted)
        if model.kind != cls.vocabulary_kind:
            raise InvalidInput(f"field {name!r} of kind {cls.kind} cannot have a vocabulary of kind {model.kind}")
        if cls.encoder_kind not in (None, model.encoder.kind):
            raise InvalidInput(f"field {name!r} of kind {cls.kind} needs an encoder of {cls.encoder_kind}s")
        if not common["n_terms"]:
            raise InvalidInput(f"field {name!r} has no terms")
        return {**common, "model": model}
