"""What a search returns. Everything in it belongs to the snapshot it was made on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from zipfian.errors import InvalidInput, shown
from zipfian.explain.highlight import Snippet
from zipfian.explain.terms import compare
from zipfian.types import Explanation


@dataclass(frozen=True, slots=True)
class LegHit:
    """How one leg saw a hit."""

    rank: int | None
    """1 for its best document; None where the document is not in the list the leg was asked for."""
    score: float
    """The leg's own, exact score."""
    share: float
    """What of the hit's score came from this leg, in the score's own unit."""
    normalised: float | None = None
    """The score on the scale that legs were fused on; None where one leg answered alone."""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document."""

    id: str
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found. Text and metadata are read from the snapshot when first asked for."""

    id: str
    score: float
    rank: int
    legs: Mapping[str, LegHit] = field(hash=False)
    number: int = field(repr=False)
    first_rank: int = field(repr=False)
    """Rank before reranking; the same as `rank` where nobody reranked."""
    exact_match: bool = field(repr=False)
    """Whether its text is the query itself, and that was rewarded (`exact_match_bonus`)."""
    _load: Callable[[], Document] = field(repr=False, compare=False)

    @property
    def text(self) -> str | None:
        return self._load().text

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._load().metadata


@dataclass(frozen=True, eq=False)
class Results(Sequence[Hit]):
    """Hits, best first, and how they were found."""

    hits: tuple[Hit, ...]
    query: Any
    generation: int
    """The commit that was searched."""
    settings: Mapping[str, Any]
    """Leg, scoring, k and filter of this search."""
    timings: Mapping[str, float]
    """Seconds: prepare (query to terms; encode, the neural network, is part of it), filter, search, total."""
    _explain: Callable[[int], Explanation] = field(repr=False)
    _highlight: Callable[[int, dict[str, Any]], list[Snippet]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def explain(self, hit: Hit) -> Explanation:
        """The hit's score as a tree whose parts sum to it, from the same snapshot and settings."""
        return self._explain(self._own(hit).number)

    def why(self, a: Hit, b: Hit) -> Explanation:
        """Which terms put hit A above hit B (or B above A): the difference of their scores, term by term."""
        return compare(self.explain(a), self.explain(b), a.id, b.id)

    def highlight(self, hit: Hit, **options: Any) -> list[Snippet]:
        """The best passages of the hit's text with the matching words marked; options of `explain.highlight`."""
        return self._highlight(self._own(hit).number, options)

    def _own(self, hit: Hit) -> Hit:
        """Numbers mean something in one snapshot only: a hit of other results is refused."""
        if not isinstance(hit, Hit) or hit not in self.hits[hit.rank - 1 : hit.rank]:
            raise InvalidInput(f"not a hit of these results: {shown(hit)}")
        return hit
