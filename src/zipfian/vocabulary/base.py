"""What the rest of zipfian may ask of any vocabulary, whether its terms are words or latent features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from zipfian.types import FieldBatch, TfKind

Item = TypeVar("Item", contravariant=True)
"""What a vocabulary reads: a text, or the token vectors of an encoder."""


class Vocabulary(Protocol[Item]):
    """Turns items into terms. Documents and queries must go through equal vocabularies: compare `fingerprint`.

    Examples
    --------
    >>> from zipfian.vocabulary import Words
    >>> vocabulary: Vocabulary[str] = Words()
    >>> vocabulary.query("the cells")
    {'cell': 1.0}
    """

    @property
    def kind(self) -> str:
        """The vocabulary's name in a manifest, such as `words`."""
        ...

    @property
    def term_kind(self) -> Literal["str", "int"]:
        """Whether terms are words or numbers."""
        ...

    @property
    def tf_kind(self) -> TfKind:
        """How its weights are stored unless the user says otherwise."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for two vocabularies only if they give equal terms for every item."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The settings, enough to make an equal vocabulary again."""
        ...

    def query(self, item: Item) -> Mapping[str, float] | Mapping[int, float]:
        """The terms of a query, `item`, and their weights."""
        ...

    def batch(self, items: Iterable[Item]) -> FieldBatch:
        """The terms of many documents, `items`, ready to be written."""
        ...
