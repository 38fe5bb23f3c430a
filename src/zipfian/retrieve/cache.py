"""Posting lists of a snapshot, decoded once and kept in the kernels' layout under a byte budget.

Term frequencies are what the files hold; impacts depend on N, df and the mean length of the whole snapshot, so they are
computed here, list by list, when a query first needs them. Room for all postings that the budget allows is reserved at
once, but memory is only committed by the operating system for what is written: an unused list costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.arena import NO_CODES, NO_TABLE, windows
from zipfian.retrieve.layout import CHUNK, DENSE_SHARE, LOG_WINDOW, SHORT_PER_WINDOW, SPAN, WINDOW

if TYPE_CHECKING:
    from zipfian.retrieve.kernels import Postings

Docs = npt.NDArray[np.int32]
Weights = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_PLACE_BYTES = 2 + 1
"""Of a posting, besides its weight: where it is within its window, and its impact."""
_ROW_PADDING = 192
"""Rows a power of two apart would fight for the same cache sets."""


class PostingCache:
    """Decoded lists of one field of one snapshot. Filling is serialised; searches read without a lock."""

    def __init__(
        self, n_docs: int, n_postings: int, norm: npt.NDArray[np.float64], spec: npt.NDArray[np.float64], budget: int,
        weights: npt.DTypeLike = np.float32,
    ) -> None:  # fmt: skip
        """Lists of so many postings at most, with weights of a type, under a formula and a budget of bytes."""
        self.n_docs = n_docs
        self.n_postings = n_postings
        self.norm = norm
        self.spec = spec
        self.budget = budget
        self._weights = np.dtype(weights)
        self._posting_bytes = _PLACE_BYTES + self._weights.itemsize
        self.nbytes = 0
        self.resets = 0
        self._lock = threading.Lock()
        self._reset()

    def lists(
        self, terms: Sequence[Hashable], df: Ints, load: Callable[[int], tuple[Docs, Weights]]
    ) -> tuple[Postings, Ints] | None:
        """The lists of a query's terms (df > 0), loading those not yet here; None if they exceed the budget.

        `load(i)` decodes the list of the i-th term: documents ascending, weights.
        """
        with self._lock:
            missing = [i for i, term in enumerate(terms) if term not in self._slots]
            if missing:
                need = sum(self._cost(int(df[i])) for i in missing)
                if self.nbytes + need > self.budget:
                    if sum(self._cost(int(n)) for n in df) > self.budget:
                        return None
                    # Start afresh rather than track what is used least: the lists in use come back with the next
                    # queries, and searches under way keep the arrays they hold.
                    self._reset()
                    self.resets += 1
                    missing = list(range(len(terms)))
                for i in missing:
                    self._fill(terms[i], *load(i))
            return self._view(), np.array([self._slots[term] for term in terms], np.int64)

    def _cost(self, df: int) -> int:
        dense = self._row_bytes if self._wants_row(df) else 0
        return df * self._posting_bytes + dense + 8 * (windows(self.n_docs) + 1)

    def _wants_row(self, df: int) -> bool:
        return self.n_docs >= WINDOW // 4 and df * DENSE_SHARE > self.n_docs

    def _reset(self) -> None:
        n_windows = windows(self.n_docs)
        n = max(1, min(self.n_postings, self.budget // self._posting_bytes))
        chunks = n_windows * WINDOW // CHUNK
        self._row_bytes = n_windows * WINDOW + _ROW_PADDING + 5 * chunks
        # a list is long, or dense, only if it has so many postings: that bounds how many there can be
        long_lists = n // max(1, SHORT_PER_WINDOW * n_windows) + 1
        rows = min(n * DENSE_SHARE // max(1, self.n_docs) + 1, self.budget // max(1, self._row_bytes) + 1)
        rows = rows if self.n_docs >= WINDOW // 4 else 0
        self._slots: dict[Hashable, int] = {}
        self._loc = np.empty(n + SPAN, np.uint16)
        self._q = np.empty(n, np.uint8)
        self._tf = np.empty(n, self._weights)
        self._high = np.empty(n, np.uint16)
        self._bounds = np.empty((long_lists, n_windows + 1), np.int32)
        self._rows = np.zeros((rows, n_windows * WINDOW + _ROW_PADDING), np.uint8)
        self._peak = np.zeros((rows, chunks), np.uint8)
        self._rank = np.empty((rows, chunks), np.int32)
        self._table = _SlotTable(256)
        self._used = self._used_high = self._used_long = self._used_rows = 0
        self.nbytes = 0

    def _fill(self, term: Hashable, docs: Docs, tf: Weights) -> None:
        from zipfian.retrieve import kernels

        n = len(docs)
        start, stop = self._used, self._used + n
        is_long = n >= SHORT_PER_WINDOW * windows(self.n_docs)
        is_dense = self._wants_row(n) and self._used_rows < len(self._rows)
        none8, none32 = np.empty(0, np.uint8), np.empty(0, np.int32)
        row, dense = self._used_long, self._used_rows
        self._tf[start:stop] = tf
        top = kernels.fill_long(
            docs, tf.astype(np.float64), self.norm, self.spec, self._loc[start:stop], self._q[start:stop],
            self._bounds[row] if is_long else none32,
            self._rows[dense] if is_dense else none8,
            self._peak[dense] if is_dense else none8,
            self._rank[dense] if is_dense else none32,
        )  # fmt: skip
        if not is_long:
            self._high[self._used_high : self._used_high + n] = docs >> LOG_WINDOW
        self._slots[term] = self._table.append(
            start, stop, top, row if is_long else -1, self._used_high, dense if is_dense else -1
        )
        self._used = stop
        self._used_high += 0 if is_long else n
        self._used_long += int(is_long)
        self._used_rows += int(is_dense)
        self.nbytes += n * (self._posting_bytes + (0 if is_long else 2))
        self.nbytes += (self._bounds[0].nbytes if is_long else 0) + (self._row_bytes if is_dense else 0)

    def _view(self) -> Postings:
        from zipfian.retrieve import kernels

        t = self._table
        return kernels.Postings(
            start=t.start, stop=t.stop, loc=self._loc, q=self._q, tf=self._tf, code=NO_CODES, table=NO_TABLE, top=t.top,
            row=t.row, bounds=self._bounds, high=self._high, high_start=t.high, dense=t.dense, rows=self._rows,
            peak=self._peak, rank=self._rank,
        )  # fmt: skip


class _SlotTable:
    """Columns of numbers per slot. Growing makes new arrays: a search under way keeps reading the old ones."""

    def __init__(self, room: int) -> None:
        self.size = 0
        self.start, self.stop, self.high = (np.empty(room, np.int64) for _ in range(3))
        self.top = np.empty(room, np.float64)
        self.row, self.dense = (np.empty(room, np.int32) for _ in range(2))

    def append(self, start: int, stop: int, top: float, row: int, high: int, dense: int) -> int:
        """A new slot."""
        slot = self.size
        if slot == len(self.start):
            for name in ("start", "stop", "high", "top", "row", "dense"):
                old: npt.NDArray[Any] = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.empty_like(old)]))
        self.start[slot], self.stop[slot], self.high[slot] = start, stop, high
        self.top[slot], self.row[slot], self.dense[slot] = top, row, dense
        self.size += 1
        return slot
