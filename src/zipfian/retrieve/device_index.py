"""`DeviceIndex`: batches of queries on a GPU, with the ids, scores and order of the engine on the processor.

Why they are the same to the last bit: a posting's impact is the float64 number that the processor computes, made once
when the index is moved, and sums are added up in float64 in the processor's order, whichever engine does it. On a GPU
that is `device_blocks`; where its kernels cannot be compiled, and for queries that it leaves open, `device_sums`.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.device import checked_device, from_host, load_torch, no_room, running, torch_device
from zipfian.errors import DeviceMemory, InvalidInput, LimitExceeded
from zipfian.retrieve.arena import Layout
from zipfian.retrieve.device_blocks import best_of_blocks, kernels_for, places
from zipfian.retrieve.device_parts import parts
from zipfian.retrieve.device_sums import Queries, best_of_parts
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.validate import check_k, check_mask
from zipfian.retrieve.weighing import Ids, Scores, batch, weighed

SUMS = 1 << 28
"""Sums held at a time: 2 GB."""


class DeviceIndex:
    """A `SparseIndex` on a device; make one with `SparseIndex.to`. It needs nothing of the index it was made from.

    On the device it takes 12 bytes a posting and a few more; a search takes at most a few GB besides.
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
                self._kernels = kernels_for(self.device)
                block_docs = None if self._kernels is None else self._kernels.block_docs
                self._parts = list(parts(layout, torch_device(self.device), block_docs))
            except torch.OutOfMemoryError:
                held = 12 * len(layout.postings.q)
                raise DeviceMemory(self.device, f"an index of {held:,} bytes", "or search on the processor") from None

    @property
    def n_terms(self) -> int:
        """Size of the term space."""
        return len(self._idf)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(part.nbytes for part in self._parts)

    @property
    def compiled(self) -> bool:
        """Whether kernels compiled for the device do the work; otherwise plain torch does, with the same hits."""
        return self._kernels is not None

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
        with running(self.device) as torch:
            hidden = None if allowed is None else from_host(~allowed, torch_device(self.device))
            at = 0
            while at < n_queries:
                some = self._at_once(n_queries - at, most)
                try:
                    found = self._search(torch, (rows[at : at + some + 1], slots, weight), most, hidden)
                except torch.OutOfMemoryError:
                    self._halve(torch, some, most)
                    continue
                ids[at : at + some, :most], scores[at : at + some, :most] = found
                at += some
        return ids, scores

    def _at_once(self, left: int, k: int) -> int:
        return min(left, max(1, self._sums // self._sums_of_one(k)))

    def _sums_of_one(self, k: int) -> int:
        """Numbers that a query holds on the device while it is searched."""
        if self._kernels is None:
            return max(part.n_docs for part in self._parts)
        return 16 * places(k) + 1024 * len(self._parts)

    def _halve(self, torch: Any, some: int, k: int) -> None:
        if some == 1:
            torch.cuda.empty_cache()
            raise DeviceMemory(self.device, "the sums of one query", "or search on the processor")
        with self._lock:
            self._sums = some // 2 * self._sums_of_one(k)
        no_room(torch, self.device, some, "queries", some // 2)

    def _search(
        self, torch: Any, queries: tuple[Ids, Ids, Scores], k: int, hidden: Any | None
    ) -> tuple[Ids, Scores]:  # fmt: skip
        """The best k of some queries (row starts, slots, weights): (queries, k), unused places -1 and 0."""
        device = torch_device(self.device)
        if self._kernels is None:
            return best_of_parts(torch, self._parts, Queries.of(*queries), k, hidden, device)
        found = best_of_blocks(torch, self._kernels, self._parts, queries, k, hidden, device)
        rows, slots, weight = queries
        for number in found.open.tolist():  # one by one: all sums of a part, as many as there are documents
            one = Queries.of(rows[number : number + 2], slots, weight)
            found.ids[number], found.scores[number] = best_of_parts(torch, self._parts, one, k, hidden, device)
        return found.ids, found.scores
