"""Latent terms of the text: what a sparse autoencoder finds in the token vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from zipfian.encode.named import EncoderLike
from zipfian.encode.registry import EncoderSpec
from zipfian.encode.text import TextEncoder
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import Source
from zipfian.fields.model import QueryEncoder
from zipfian.fields.places import word_around
from zipfian.fields.sae import SaeField, sae_parts
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.statistics import Term
from zipfian.types import Terms
from zipfian.vocabulary import Pruning

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, init=False)
class Latent(SaeField):
    """Latent terms of the text.

    Parameters
    ----------
    vocabulary
        A shipped name, a folder or a `SaeVocabulary`.
    encoder
        The one the vocabulary was trained on, or its name (`hf:NAME`, a folder); by default the default text encoder.
    scoring, scale
        Formula, and steps of a weight of 1; those that the vocabulary recommends unless given.
    pruning
        Which of a document's terms are kept; all by default.
    query_encoder
        `table` prepares queries without the neural network unless a search says otherwise.
    use
        Settings of the vocabulary: `k`, `k_least`, `pooling`, `k_post`, `preset`.

    Raises
    ------
    InvalidInput
        Another `query_encoder`, a table that the vocabulary does not have, or an encoder that it was not trained on.

    Examples
    --------
    >>> Latent(query_encoder="table").query_encoder
    'table'
    """

    query_encoder: QueryEncoder = "encoder"
    """How a text query becomes latent terms unless a search says otherwise."""

    kind: ClassVar[str] = "latent"
    encoder_kind: ClassVar[Source | None] = "text"

    @property
    def weight(self) -> float:
        return 1.0

    def __init__(
        self, vocabulary: Any = "text-16k", *, encoder: EncoderLike | None = None, scoring: Scoring | None = None,
        pruning: Pruning | None = None, scale: float | None = None, query_encoder: QueryEncoder = "encoder", **use: Any,
    ) -> None:  # fmt: skip
        if query_encoder not in get_args(QueryEncoder):
            raise InvalidInput(f"query_encoder must be 'encoder' or 'table', not {shown(query_encoder)}")
        parts, loaded = sae_parts("text", vocabulary, encoder, scoring, pruning, scale, use)
        if query_encoder == "table" and loaded.table is None:
            raise InvalidInput(f"the vocabulary {loaded.name} has no query table: use query_encoder='encoder'")
        self.settle(**parts, query_encoder=query_encoder)

    @property
    def has_table(self) -> bool:
        return self.vocabulary.table is not None

    def mode(self, query: Query) -> QueryEncoder:
        """How the text of a `query` becomes latent terms."""
        return query.mode or self.query_encoder

    def needs(self, query: Query) -> EncoderSpec | None:
        return None if self.mode(query) == "table" else self.model.encoder

    def report(self, query: Query) -> dict[str, Any]:
        return {} if query.text is None else {"query": self.mode(query)}

    def project(self, query: Query) -> Terms:
        if self.mode(query) == "encoder":
            return super().project(query)
        key = (str(self.model.fingerprint), "table")
        return query.once(key, lambda: self.vocabulary.table_query(self._pieces(query.text or "")))

    def _pieces(self, text: str) -> npt.NDArray[np.int32]:
        """The word pieces of a text, without the network."""
        encoder = self.model.load_encoder()
        if not isinstance(encoder, TextEncoder):
            raise InvalidInput("query_encoder='table' needs a field of the default text encoder; use 'encoder'")
        return encoder.pieces(text)

    def words_behind(self, query: Query, wanted: Collection[Term]) -> Mapping[Term, list[str]]:
        text = query.text
        if text is None or self.mode(query) == "table":
            return {}
        encoded = query.encoded(self.model.encoder)
        out: dict[Term, list[str]] = {}
        for term, rows in self.vocabulary.evidence(encoded, [int(t) for t in wanted], asked=True).items():
            words = (word_around(text, *encoded.places[token].tolist()) for token, _ in rows)
            out[term] = list(dict.fromkeys(text[a:b] for a, b in words))
        return out

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "query_encoder": self.query_encoder}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        parts = cls.parts(name, found, trusted)
        return cls.restored(**parts, query_encoder=found.choice("query_encoder", get_args(QueryEncoder)))
