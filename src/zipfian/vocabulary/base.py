"""What a field asks of any vocabulary that reads an encoder: sparse autoencoder, SPLADE model or scalar transform."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from zipfian.types import Encoded, Terms

Fired = list[tuple[int, float]]
"""Tokens and how strongly each fired a term."""


@runtime_checkable
class Vocabulary(Protocol):
    """Turns what an encoder made of an item into terms. Documents and queries must go through equal ones.

    Examples
    --------
    >>> from zipfian.vocabulary.sae import SaeVocabulary
    >>> isinstance(SaeVocabulary.load("text-16k"), Vocabulary)
    True
    """

    @property
    def n_terms(self) -> int:
        """Size of the term space: ids lie below it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for two vocabularies only if they give equal terms for every item."""
        ...

    @property
    def compact_form(self) -> str:
        """Names what `compact` makes, for a cache: equal where the same arrays would come out."""
        ...

    def terms(self, encoded: Encoded) -> Terms:
        """The terms of a document, from the encoder's pass over it (`encoded`)."""
        ...

    def compact(self, encoded: Encoded) -> Mapping[str, Any]:
        """What of a pass (`encoded`) is worth keeping: small arrays that the terms can be made of again."""
        ...

    def from_compact(self, arrays: Mapping[str, Any]) -> Terms:
        """The terms of a document from the `arrays` that `compact` kept: the very ones that `terms` gives."""
        ...

    def evidence(
        self, encoded: Encoded, wanted: Collection[int] | None = None, *, asked: bool = False
    ) -> Mapping[int, list[tuple[int, float]]]:
        """For each `wanted` term of an item (`encoded`) the tokens that fired it and how strongly, strongest first.

        `asked`: the item is a query, where queries are read otherwise than documents.
        """
        ...

    def label(self, term: int) -> str:
        """What to call a `term`."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        ...
