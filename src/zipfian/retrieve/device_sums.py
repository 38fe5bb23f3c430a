"""Batches of queries in plain torch: all sums of a part at once, on any device.

For every query the products of its first terms are added to the sums of their documents, then those of all second
terms, and so on: a list has a document once, so nothing is added twice in one step, and every sum grows in the order of
the query's terms, as on the processor. Products and sums are separate operations in float64, rounded one by one. Equal
scores at the last place are settled by the order of documents.

Documents come in parts, so that the sums of a batch fit: a step costs what its lists have, and each part one selection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.device import from_host
from zipfian.retrieve.device_parts import Part
from zipfian.retrieve.weighing import Ids, Scores

STEP_POSTINGS = 1 << 25
"""Postings added in one step at most (but one list at least); it needs about 50 bytes for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """A batch, its terms ordered by their place in the query and then by query."""

    n: int
    slots: Ids
    weight: Scores
    row: Ids
    """Which query each belongs to."""
    bounds: Ids
    """Where the first terms end, the second ones, and so on."""

    @classmethod
    def of(cls, rows: Ids, slots: Ids, weight: Scores) -> Queries:
        counts = np.diff(rows)
        row = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(row)) - np.repeat(rows[:-1] - rows[0], counts)
        order = np.lexsort((row, place))
        bounds = np.cumsum(np.bincount(place, minlength=1)) if len(place) else np.zeros(1, np.int64)
        here = slice(int(rows[0]), int(rows[-1]))
        return cls(len(counts), slots[here][order], weight[here][order], row[order], bounds)


def best_of_parts(
    torch: Any, parts: Sequence[Part], queries: Queries, k: int, hidden: Any | None, device: Any
) -> tuple[Ids, Scores]:  # fmt: skip
    """The best k of all parts: (queries, k), unused places -1 and 0."""
    ids = torch.full((queries.n, k), -1, dtype=torch.int64, device=device)
    scores = torch.zeros((queries.n, k), dtype=torch.float64, device=device)
    for part in parts:
        sums = _summed(torch, part, queries, device)
        if hidden is not None:
            sums.masked_fill_(hidden[part.first : part.first + part.n_docs], 0.0)
        docs, best = _best(torch, sums, min(k, part.n_docs))
        del sums  # before the next part asks for as much
        # Earlier documents stand before later ones, so a stable sort leaves equal scores in document order.
        both, all_ids = torch.cat([scores, best], dim=1), torch.cat([ids, docs + part.first], dim=1)
        scores, order = (column[:, :k] for column in both.sort(dim=1, descending=True, stable=True))
        ids = all_ids.gather(1, order)
    return torch.where(scores > 0.0, ids, -1).cpu().numpy(), scores.cpu().numpy()


def _summed(torch: Any, part: Part, queries: Queries, device: Any) -> Any:
    """(queries, documents): every score."""
    sums = torch.zeros(queries.n * part.n_docs, dtype=torch.float64, device=device)
    begin = part.start[queries.slots]
    lengths = part.start[queries.slots + 1] - begin
    table = from_host(np.stack([begin, lengths, queries.row * part.n_docs]), device)
    weight = from_host(queries.weight, device)
    for lo, hi in _steps(lengths, queries.bounds):
        total = int(lengths[lo:hi].sum())
        if not total:
            continue
        starts, many, offset = table[:, lo:hi]
        owner = torch.repeat_interleave(torch.arange(hi - lo, device=device), many, output_size=total)
        at = torch.arange(total, device=device) + (starts - (many.cumsum(0) - many))[owner]
        products = weight[lo:hi][owner] * part.impacts[at]
        sums.index_add_(0, offset[owner] + part.docs[at], products)
    return sums.view(queries.n, part.n_docs)


def _steps(lengths: Ids, bounds: Ids) -> Iterator[tuple[int, int]]:
    """Ranges of a batch's terms that are added together: of one place in the queries, and not too many postings."""
    lo = 0
    for end in bounds.tolist():
        while lo < end:
            fits = int(np.searchsorted(np.cumsum(lengths[lo:end]), STEP_POSTINGS, side="right"))
            hi = lo + max(1, fits)
            yield lo, hi
            lo = hi


def _best(torch: Any, sums: Any, k: int) -> tuple[Any, Any]:
    """Documents and scores of the k best of every row, best first, equal scores in document order."""
    values, docs = sums.topk(min(k + 1, sums.shape[1]), dim=1)
    if values.shape[1] > k:  # a look at the next one shows whether the last place is shared
        tied = torch.nonzero((values[:, k] == values[:, k - 1]) & (values[:, k] > 0.0))[:, 0]
        values, docs = values[:, :k], docs[:, :k]
        block = max(1, STEP_POSTINGS // sums.shape[1])
        for rows in tied.split(block) if len(tied) else ():
            docs[rows] = _settled(torch, sums[rows], values[rows], docs[rows])
    docs, order = docs.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return docs.gather(1, order), values


def _settled(torch: Any, sums: Any, values: Any, docs: Any) -> Any:
    """The documents of the k best where more share the last score than there are places: the first of those."""
    k = values.shape[1]
    last = values[:, -1:]
    above = values > last
    places = k - above.sum(dim=1, keepdim=True)
    equal = sums == last
    chosen = torch.nonzero(equal & (equal.cumsum(dim=1) <= places))[:, 1]  # row by row, documents ascending
    found = docs.clone()
    found[~above] = chosen  # best first, so the places that are left are the last ones of each row
    return found
