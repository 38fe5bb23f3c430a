"""Documents found by their passages: a document is worth what its best passage is.

A field whose rows are passages is searched like any other; here its rows become documents. Nothing is approximate: rows
come best first, so the first of each document is its best one, and more rows are asked for until there are documents
enough. Documents and passages are both numbered through all segments of a snapshot, in document order, so ties break as
they do without passages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from zipfian.index.passages import rows_of
from zipfian.types import Passages

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

Search = Callable[[int, Mask | None], tuple[Ints, F64]]
"""The k best rows that a mask allows, best first, and their scores."""
Score = Callable[[Ints], F64]
"""The scores of some rows, ascending; NaN where a row has none."""

_MORE = 4
"""Times as many rows are asked for where too few documents were among the last."""


class PassageMap:
    """Which passages the documents of a snapshot have in one field, and which document each passage is of."""

    def __init__(self, passages: Passages) -> None:
        self.passages = passages
        self._counts = np.diff(passages.first)
        self._owner = np.repeat(np.arange(len(self._counts), dtype=np.int64), self._counts)

    @classmethod
    def over(cls, parts: Sequence[tuple[Passages | None, int]]) -> PassageMap | None:
        """Of the segments of a snapshot, each with its documents; None where every document is one row."""
        if all(passages is None for passages, _ in parts):
            return None
        counts = [np.ones(n, np.int64) if p is None else np.diff(p.first) for p, n in parts]
        nothing = [np.zeros(n, np.int64) for _, n in parts]
        starts = [none if p is None else p.starts for (p, _), none in zip(parts, nothing, strict=True)]
        ends = [none if p is None else p.ends for (p, _), none in zip(parts, nothing, strict=True)]
        first = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        return cls(Passages(first, np.concatenate(starts), np.concatenate(ends)))

    def __len__(self) -> int:
        return len(self._owner)

    def mask(self, docs: Mask) -> Mask:
        """One flag for each passage, from one for each document."""
        return np.repeat(docs, self._counts)

    def search(self, search: Search, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        """The k best documents that a mask of documents allows, best first, each with the score of its best passage."""
        allowed = None if mask is None else self.mask(mask)
        wanted = k + k
        while True:
            rows, scores = search(wanted, allowed)
            docs = self._owner[rows]
            first = np.sort(np.unique(docs, return_index=True)[1])[:k]
            if len(first) == k or len(rows) < wanted:
                return docs[first], scores[first]
            wanted *= _MORE

    def score(self, score: Score, docs: Ints) -> F64:
        """The score of the best passage of each document; NaN where none has one."""
        return self._best(score, docs)[0]

    def best(self, score: Score, docs: Ints) -> Ints:
        """The best passage of each document, the first of equals."""
        return self._best(score, docs)[1]

    def document(self, row: int) -> int:
        """The document that a passage is of."""
        return int(self._owner[row])

    def count(self, rows: Mask) -> int:
        """Documents of which some passage is among the rows."""
        return int(np.count_nonzero(np.logical_or.reduceat(rows, self.passages.first[:-1]))) if len(rows) else 0

    def span(self, row: int) -> tuple[int, int] | None:
        """Where a passage stands in the text of its document; None: it is the whole text."""
        start, end = int(self.passages.starts[row]), int(self.passages.ends[row])
        return (start, end) if end else None

    def _best(self, score: Score, docs: Ints) -> tuple[F64, Ints]:
        if not len(docs):
            return np.empty(0, np.float64), np.empty(0, np.int64)
        rows = rows_of(self.passages, docs)
        scores = score(rows)
        starts = np.concatenate([[0], np.cumsum(self._counts[docs])[:-1]])
        top = np.fmax.reduceat(scores, starts)
        is_top = (scores == np.repeat(top, self._counts[docs])) | np.isnan(np.repeat(top, self._counts[docs]))
        at = np.flatnonzero(is_top)
        first = at[np.searchsorted(at, starts)]
        return top, rows[first]
