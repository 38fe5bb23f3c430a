"""Why a document is not among the hits: a filter keeps it out, nothing is shared, or others have more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.fields.base import PostingField
from zipfian.fields.query import Query
from zipfian.types import Explanation

if TYPE_CHECKING:
    from zipfian.collection.collection import Collection

MATCHES = ("term", "cosine", "token")
"""Kinds of nodes that stand for something which query and document share."""

NAMED = 5
"""Missing terms that are named for each field; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Where a document stands for a search; `Collection.absence` finds out.

    Examples
    --------
    >>> Absence(None, 0.0, 1.5, excluded=False, matches=False, lacking={"words": ("photosynthesi",)}).reasons
    ['nothing in it matches the query', 'words: it lacks photosynthesi']
    """

    rank: int | None
    """Its rank among the hits; None where it is not there."""
    score: float
    """What it scores, found or not."""
    cutoff: float | None
    """The score of the last hit; None where there is none."""
    excluded: bool
    """Whether the filter keeps it out."""
    matches: bool
    """Whether anything in it matches the query."""
    lacking: Mapping[str, Sequence[str]]
    """Terms of the query that it does not have, heaviest first, by field."""

    @property
    def reasons(self) -> list[str]:
        """Why it is not among the hits, in words; nothing where it is."""
        if self.rank is not None:
            return []
        out = []
        if self.excluded:
            out.append("the filter keeps it out")
        elif not self.matches:
            out.append("nothing in it matches the query")
        elif self.cutoff is not None:
            out.append(f"it scores {self.score:.4f}, and the last of the hits {self.cutoff:.4f}")
        for name, terms in self.lacking.items():
            more = f" and {len(terms) - NAMED} more" if len(terms) > NAMED else ""
            out.append(f"{name}: it lacks {', '.join(terms[:NAMED])}{more}")
        return out


def absence(
    collection: Collection, query: Query, doc_id: str, k: int, where: Mapping[str, Any] | None,
    options: Mapping[str, Any], tree: Explanation,
) -> Absence:  # fmt: skip
    """Search as the caller did, and look for the document; `tree` explains its score."""
    found = collection.search(query, k, where, **options)
    rank = next((hit.rank for hit in found if hit.id == doc_id), None)
    names = [name for name in found.settings.get("fields", ()) if name in collection.fields]
    excluded = where is not None and rank is None and _excluded(collection, query, doc_id, where, names)
    cutoff = found[-1].score if len(found) else None
    matches = any(node.kind in MATCHES for node in _nodes(tree))
    return Absence(rank, tree.value, cutoff, excluded, matches, _lacking(collection, query, names, tree))


def _excluded(
    collection: Collection, query: Query, doc_id: str, where: Mapping[str, Any], names: Sequence[str]
) -> bool:  # fmt: skip
    return bool(names) and bool(np.isnan(collection.score(names[0], query, [doc_id], where)[0]))


def _lacking(
    collection: Collection, query: Query, names: Sequence[str], tree: Explanation
) -> dict[str, Sequence[str]]:  # fmt: skip
    """Terms of the query that the tree does not mention, in fields that have terms."""
    had = {(node.field, node.term) for node in _nodes(tree) if node.kind == "term"}
    out: dict[str, Sequence[str]] = {}
    for name in names:
        field = collection.fields[name]
        if not isinstance(field, PostingField):
            continue
        try:
            weights = query.terms_in(name, field)
        except InvalidInput:  # a query without a term that this field knows
            continue
        missing = [term for term in weights if (name, term) not in had]
        missing.sort(key=lambda term: -weights[term])
        if missing:
            out[name] = tuple(field.label(term) for term in missing)
    return out


def _nodes(tree: Explanation) -> list[Explanation]:
    waiting, out = [tree], []
    while waiting:
        node = waiting.pop()
        out.append(node)
        waiting += node.parts
    return out
