"""What a search of a service returns: the hits and reasons that came over the line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from zipfian.collection.results import FieldHit
from zipfian.explain.highlight import Snippet
from zipfian.types import Explanation


@dataclass(frozen=True, slots=True)
class RemoteHit:
    """A document that was found, with the attributes of `Hit`; a service's answer makes it.

    Parameters
    ----------
    id
        The document's id.
    score
        What it was ranked by.
    rank
        1 for the best.
    fields
        How each field saw it, by the field's name.
    metadata
        The stored metadata, by column.
    first_rank
        Rank before reranking.
    exact_match
        Whether its text is the query itself, and that was rewarded.
    text_cut
        Whether the text goes on.

    Examples
    --------
    >>> hit = RemoteHit("a", 1.5, 1, {"words": FieldHit(1, 1.5, 1.5)})
    >>> hit.id, hit.fields["words"].share
    ('a', 1.5)
    """

    id: str
    score: float
    rank: int
    fields: Mapping[str, FieldHit] = dataclasses.field(default_factory=dict, hash=False)
    text: str | None = None
    """Of a long text, the beginning: `text_cut` says so, and `get` has more."""
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    first_rank: int = 0
    exact_match: bool = False
    text_cut: bool = False
    picture: bool = False
    """Whether the document names a picture: `thumbnail` fetches it."""
    explanation: Explanation | None = dataclasses.field(default=None, hash=False, repr=False)
    """With `explain="terms"` or `"places"`."""
    snippets: tuple[Snippet, ...] = dataclasses.field(default=(), repr=False)
    """With `highlight=True`."""
    confidence: float = 0.0
    """How likely it is a right answer, 0 to 1."""


@dataclass(frozen=True, eq=False)
class RemoteResults(Sequence[RemoteHit]):
    """Hits, best first, and how they were found: a sequence of `RemoteHit`.

    Parameters
    ----------
    hits
        Best first.
    query
        What was asked.
    generation
        The commit that was searched.
    settings
        How it was searched.
    timings
        Seconds of each stage, in the service.
    notes
        What the reader of these hits should know.

    Examples
    --------
    >>> found = RemoteResults((RemoteHit("a", 1.5, 1),), "food", 2, {"method": "words"}, {"total": 0.001}, [])
    >>> len(found), found[0].id
    (1, 'a')
    """

    hits: tuple[RemoteHit, ...]
    query: Any
    generation: int
    settings: Mapping[str, Any]
    timings: Mapping[str, float]
    notes: list[str]
    facets: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """With `facets=[...]`: values of columns, as the service counted them."""
    _explain: Callable[[str], Explanation] | None = dataclasses.field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[RemoteHit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> RemoteHit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RemoteHit, ...]: ...
    def __getitem__(self, index: int | slice) -> RemoteHit | tuple[RemoteHit, ...]:
        return self.hits[index]

    def explain(self, hit: RemoteHit) -> Explanation:
        """The score of `hit` as a tree whose parts sum to it; asked for now where it did not come along."""
        if hit.explanation is not None:
            return hit.explanation
        if self._explain is None:
            return Explanation(hit.score, "score")
        return self._explain(hit.id)


def results_of(query: Any, found: Mapping[str, Any], explain: Callable[[str], Explanation] | None) -> RemoteResults:
    """From an answer."""
    return RemoteResults(
        tuple(_hit(one) for one in found["hits"]), query, found["generation"], found["settings"], found["timings"],
        found["notes"], found.get("facets") or {}, explain,
    )  # fmt: skip


def _hit(found: Mapping[str, Any]) -> RemoteHit:
    tree = found.get("explanation")
    return RemoteHit(
        found["id"], found["score"], found["rank"],
        {name: FieldHit(**seen) for name, seen in (found.get("fields") or {}).items()},
        found.get("text"), found.get("metadata") or {}, found["first_rank"], found["exact_match"],
        found.get("text_cut", False), found.get("picture", False), None if tree is None else explanation_of(tree),
        tuple(_snippet(one) for one in found.get("snippets") or ()), found["confidence"],
    )  # fmt: skip


def _snippet(found: Mapping[str, Any]) -> Snippet:
    return Snippet(**{**found, "marks": tuple((start, end) for start, end in found["marks"])})


def explanation_of(found: Mapping[str, Any]) -> Explanation:
    """A tree from the JSON of one."""
    return Explanation(
        found["value"], found["label"], tuple(explanation_of(part) for part in found.get("parts", ())),
        found.get("details", {}), tuple(found.get("evidence", ())), found["kind"], found.get("field"),
        found.get("term"),
    )  # fmt: skip
