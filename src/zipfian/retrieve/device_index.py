"""`DeviceIndex`: batches of queries on a GPU, with the ids, scores and order of the engine on the processor.

Why they are the same to the last bit: a posting's impact is the float64 number that the processor computes, made once
when the index is moved. For every query the products of its first terms are added to the sums of their documents, then
those of all second terms, and so on: a list has a document once, so nothing is added twice in one step, and every sum
grows in the order of the query's terms, as on the processor. Products and sums are separate operations in float64,
rounded one by one. Equal scores at the last place are settled by the order of documents.

Documents come in parts, so that the sums of a batch fit: a step costs what its lists have, and each part one selection.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.device import checked_device, from_host, load_torch, running, torch_device
from zipfian.errors import DeviceMemory, InvalidInput, LimitExceeded
from zipfian.retrieve.arena import Layout
from zipfian.retrieve.layout import WINDOW
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.validate import check_k, check_mask
from zipfian.retrieve.weighing import Ids, Scores, batch, weighed

PART_WINDOWS = 32
"""Windows of a part: a million documents, whose sums take 8 MB a query."""
SUMS = 1 << 28
"""Sums held at a time: 2 GB."""
STEP_POSTINGS = 1 << 25
"""Postings added in one step at most (but one list at least); it needs about 50 bytes for each."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The postings of some consecutive documents, by term."""

    first: int
    n_docs: int
    start: Ids
    """Where each term's postings begin; here, because steps are planned here."""
    docs: Any
    """int32 on the device: counted from `first`."""
    impacts: Any
    """float64 on the device."""


@dataclass(frozen=True, slots=True, eq=False)
class _Queries:
    """A batch, its terms ordered by their place in the query and then by query."""

    n: int
    slots: Ids
    weight: Scores
    row: Ids
    """Which query each belongs to."""
    bounds: Ids
    """Where the first terms end, the second ones, and so on."""

    @classmethod
    def of(cls, rows: Ids, slots: Ids, weight: Scores) -> _Queries:
        counts = np.diff(rows)
        row = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(row)) - np.repeat(rows[:-1] - rows[0], counts)
        order = np.lexsort((row, place))
        bounds = np.cumsum(np.bincount(place, minlength=1)) if len(place) else np.zeros(1, np.int64)
        here = slice(int(rows[0]), int(rows[-1]))
        return cls(len(counts), slots[here][order], weight[here][order], row[order], bounds)


class DeviceIndex:
    """A `SparseIndex` on a device; make one with `SparseIndex.to`. It needs nothing of the index it was made from.

    On the device it takes 12 bytes a posting; a search takes about 2 GB more, or less where the index is small.
    Any number of threads may search.
    """

    def __init__(self, layout: Layout, scoring: Scoring, idf: Scores, device: str) -> None:
        """Use `SparseIndex.to`."""
        self.device = checked_device(device, "an index on a GPU")
        if self.device == "cpu":
            raise InvalidInput("a SparseIndex is on the processor already: search it, or move it to 'cuda'")
        self.scoring = scoring
        """The formula."""
        self._idf = idf
        self.n_docs = layout.n_docs
        """Documents in the index."""
        self._sums = SUMS
        self._lock = threading.Lock()
        torch = load_torch("an index on a GPU")
        with running(self.device):
            try:
                self._parts = list(_parts(layout, torch_device(self.device)))
            except torch.OutOfMemoryError:
                held = 12 * len(layout.postings.q)
                raise DeviceMemory(self.device, f"an index of {held:,} bytes", "or search on the processor") from None

    @property
    def n_terms(self) -> int:
        """Size of the term space."""
        return len(self._idf)

    @property
    def nbytes(self) -> int:
        """Bytes of the postings, which are on the device."""
        return sum(part.docs.nbytes + part.impacts.nbytes for part in self._parts)

    def __len__(self) -> int:
        return self.n_docs

    def search_batch(
        self,
        indptr: npt.ArrayLike,
        terms: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        k: int = 10,
        *,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """Many queries at once.

        Parameters
        ----------
        indptr, terms, weights
            The queries as CSR rows: row starts, term ids, and weights (1 by default).
        k
            Hits at most for each query.
        mask
            One bool per document: where it is False, the document is left out of every query's hits.

        Returns
        -------
        ids, scores
            Of shape (queries, k); unused places hold id -1 and score 0. The same numbers as `SparseIndex.search` gives.

        Raises
        ------
        InvalidInput
            As for `SparseIndex.search`; the message names the query.
        LimitExceeded
            More hits in all than one call may give.
        DeviceMemory
            The device has no room for the sums of one query.
        """
        width = check_k(k)
        rows, slots, weight = weighed(*batch(self.scoring, self._idf, indptr, terms, weights), self._idf)
        n_queries = len(rows) - 1
        if n_queries * width > limits.MAX_BATCH_HITS:
            raise LimitExceeded(f"{n_queries} queries x {width} hits, the limit is {limits.MAX_BATCH_HITS}")
        ids, scores = np.full((n_queries, width), -1, np.int64), np.zeros((n_queries, width), np.float64)
        if not self.n_docs or not n_queries:
            return ids, scores
        allowed = None if mask is None else check_mask(mask, self.n_docs)
        most = min(width, self.n_docs)
        at = 0
        with running(self.device) as torch:
            hidden = None if allowed is None else from_host(~allowed, torch_device(self.device))
            while at < n_queries:
                some = self._at_once(n_queries - at)
                try:
                    found = self._search(torch, _Queries.of(rows[at : at + some + 1], slots, weight), most, hidden)
                except torch.OutOfMemoryError:
                    self._halve(torch, some)
                    continue
                ids[at : at + some, :most], scores[at : at + some, :most] = found
                at += some
        return ids, scores

    def _at_once(self, left: int) -> int:
        largest = max(part.n_docs for part in self._parts)
        return min(left, max(1, self._sums // largest))

    def _halve(self, torch: Any, some: int) -> None:
        torch.cuda.empty_cache()
        if some == 1:
            raise DeviceMemory(self.device, "the sums of one query", "or search on the processor")
        with self._lock:
            self._sums = max(1, some // 2) * max(part.n_docs for part in self._parts)
        warnings.warn(
            f"device {self.device!r} has no room for {some:,} queries at a time; going on with {some // 2:,}",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip

    def _search(self, torch: Any, queries: _Queries, k: int, hidden: Any | None) -> tuple[Ids, Scores]:
        """The best k of all parts: (queries, k), unused places -1 and 0."""
        device = torch_device(self.device)
        ids = torch.full((queries.n, k), -1, dtype=torch.int64, device=device)
        scores = torch.zeros((queries.n, k), dtype=torch.float64, device=device)
        for part in self._parts:
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


def _parts(layout: Layout, device: Any) -> Iterator[_Part]:
    """The postings of a layout on a device, part by part."""
    from zipfian.retrieve import kernels

    p = layout.postings
    for first in range(0, layout.n_windows, PART_WINDOWS):
        last = min(first + PART_WINDOWS, layout.n_windows)
        start = np.zeros(len(p.start) + 1, np.int64)
        kernels.count_range(p, first, last, start)
        docs, impacts = np.empty(start[-1], np.int32), np.empty(start[-1], np.float64)
        kernels.unpack_range(p, first, last, layout.norm, layout.spec, start, docs, impacts)
        n_docs = min(layout.n_docs, last * WINDOW) - first * WINDOW
        yield _Part(first * WINDOW, n_docs, start, from_host(docs, device), from_host(impacts, device))


def _summed(torch: Any, part: _Part, queries: _Queries, device: Any) -> Any:
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
