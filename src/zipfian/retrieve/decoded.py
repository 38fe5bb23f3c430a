"""Decoded posting lists in the kernels' layout: arrays of a fixed size, filled one list after the other.

Room for all postings that a budget allows is reserved at once, but memory is only committed by the operating system for
what is written: an unused list costs nothing. Lists are never moved or overwritten, so a search under way may read
while another thread adds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.arena import NO_CODES, NO_TABLE, windows
from zipfian.retrieve.layout import CHUNK, DENSE_SHARE, LOG_WINDOW, ROW_PADDING, SHORT_PER_WINDOW, SPAN, WINDOW

if TYPE_CHECKING:
    from zipfian.retrieve.kernels import Postings

Docs = npt.NDArray[np.int32]
Weights = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_PLACE_BYTES = 2 + 1
"""Of a posting, besides its weight: where it is within its window, and its impact."""
_HIGH_BYTES = 2
"""Of a posting in a short list: the number of its window."""


class _Place(NamedTuple):
    """Where one list is."""

    postings: slice
    high: slice
    """Window numbers, of a short list."""
    row: int
    """Window bounds; -1: a short list has none."""
    dense: int
    """Its row of one byte per document; -1: it has none."""


class DecodedLists:
    """Lists of up to so many postings, or so many bytes; a slot is the number of a list."""

    def __init__(self, n_docs: int, n_postings: int, weights: npt.DTypeLike, most: int) -> None:
        self._n_docs = n_docs
        self._weights = np.dtype(weights)
        self._posting_bytes = _PLACE_BYTES + self._weights.itemsize
        n_windows = windows(n_docs)
        n = max(1, min(n_postings, most // self._posting_bytes))
        chunks = n_windows * WINDOW // CHUNK
        self._row_bytes = n_windows * WINDOW + ROW_PADDING + 5 * chunks
        # a list is long, or dense, only if it has so many postings: that bounds how many there can be
        long_lists = n // max(1, SHORT_PER_WINDOW * n_windows) + 1
        rows = min(n * DENSE_SHARE // max(1, n_docs) + 1, most // max(1, self._row_bytes) + 1)
        rows = rows if n_docs >= WINDOW // 4 else 0
        self._loc = np.empty(n + SPAN, np.uint16)
        self._q = np.empty(n, np.uint8)
        self._tf = np.empty(n, self._weights)
        self._high = np.empty(n, np.uint16)
        self._bounds = np.empty((long_lists, n_windows + 1), np.int32)
        self._rows = np.zeros((rows, n_windows * WINDOW + ROW_PADDING), np.uint8)
        self._peak = np.zeros((rows, chunks), np.uint8)
        self._rank = np.empty((rows, chunks), np.int32)
        self._table = _SlotTable(256)
        self._used = self._used_high = self._used_long = self._used_rows = 0
        self.nbytes = 0
        """Bytes of the lists that are here."""

    def cost(self, df: int) -> int:
        """The most bytes that a list of so many documents takes."""
        dense = self._row_bytes if self._wants_row(df) else 0
        return df * self._posting_bytes + dense + 8 * (windows(self._n_docs) + 1)

    def sizes(self) -> Ints:
        """The bytes that each list takes."""
        t, n = self._table, self._table.size
        postings = t.stop[:n] - t.start[:n]
        taken = postings * (self._posting_bytes + np.where(t.row[:n] < 0, _HIGH_BYTES, 0))
        taken += np.where(t.row[:n] >= 0, self._bounds[0].nbytes, 0)
        found: Ints = taken + np.where(t.dense[:n] >= 0, self._row_bytes, 0)
        return found

    def fill(self, docs: Docs, tf: Weights, norm: npt.NDArray[np.float64], spec: npt.NDArray[np.float64]) -> int:
        """A list and its impacts under a formula; its slot."""
        from zipfian.retrieve import kernels

        place = self._reserve(len(docs), self._wants_row(len(docs)))
        none8, none32 = np.empty(0, np.uint8), np.empty(0, np.int32)
        self._tf[place.postings] = tf
        top = kernels.fill_long(
            docs, tf.astype(np.float64), norm, spec, self._loc[place.postings], self._q[place.postings],
            self._bounds[place.row] if place.row >= 0 else none32,
            self._rows[place.dense] if place.dense >= 0 else none8,
            self._peak[place.dense] if place.dense >= 0 else none8,
            self._rank[place.dense] if place.dense >= 0 else none32,
        )  # fmt: skip
        if place.row < 0:
            self._high[place.high] = docs >> LOG_WINDOW
        return self._table.append(place, float(top))

    def copy(self, other: DecodedLists, slot: int) -> int:
        """A list of others under the same formula, as it is; its slot here."""
        t = other._table
        start, stop, high = int(t.start[slot]), int(t.stop[slot]), int(t.high[slot])
        place = self._reserve(stop - start, bool(t.dense[slot] >= 0))
        for mine, theirs in ((self._loc, other._loc), (self._q, other._q), (self._tf, other._tf)):
            mine[place.postings] = theirs[start:stop]
        if place.row >= 0:
            self._bounds[place.row] = other._bounds[t.row[slot]]
        else:
            self._high[place.high] = other._high[high : high + stop - start]
        if place.dense >= 0:
            for row, its in ((self._rows, other._rows), (self._peak, other._peak), (self._rank, other._rank)):
                row[place.dense] = its[t.dense[slot]]
        return self._table.append(place, float(t.top[slot]))

    def postings(self) -> Postings:
        """All lists as the kernels read them."""
        from zipfian.retrieve import kernels

        t = self._table
        return kernels.Postings(
            start=t.start, stop=t.stop, loc=self._loc, q=self._q, tf=self._tf, code=NO_CODES, table=NO_TABLE, top=t.top,
            row=t.row, bounds=self._bounds, high=self._high, high_start=t.high, dense=t.dense, rows=self._rows,
            peak=self._peak, rank=self._rank,
        )  # fmt: skip

    def _wants_row(self, df: int) -> bool:
        return self._n_docs >= WINDOW // 4 and df * DENSE_SHARE > self._n_docs

    def _reserve(self, n: int, dense: bool) -> _Place:
        """Where a list of so many postings goes, and its row where it has one."""
        is_long = n >= SHORT_PER_WINDOW * windows(self._n_docs)
        is_dense = dense and self._used_rows < len(self._rows)
        place = _Place(
            slice(self._used, self._used + n), slice(self._used_high, self._used_high + n),
            self._used_long if is_long else -1, self._used_rows if is_dense else -1,
        )  # fmt: skip
        self._used += n
        self._used_high += 0 if is_long else n
        self._used_long += int(is_long)
        self._used_rows += int(is_dense)
        self.nbytes += n * (self._posting_bytes + (0 if is_long else _HIGH_BYTES))
        self.nbytes += (self._bounds[0].nbytes if is_long else 0) + (self._row_bytes if is_dense else 0)
        return place


class _SlotTable:
    """Columns of numbers per slot. Growing makes new arrays: a search under way keeps reading the old ones."""

    def __init__(self, room: int) -> None:
        self.size = 0
        self.start, self.stop, self.high = (np.empty(room, np.int64) for _ in range(3))
        self.top = np.empty(room, np.float64)
        self.row, self.dense = (np.empty(room, np.int32) for _ in range(2))

    def append(self, place: _Place, top: float) -> int:
        """A new slot."""
        slot = self.size
        if slot == len(self.start):
            for name in ("start", "stop", "high", "top", "row", "dense"):
                old: npt.NDArray[Any] = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.empty_like(old)]))
        self.start[slot], self.stop[slot], self.high[slot] = place.postings.start, place.postings.stop, place.high.start
        self.top[slot], self.row[slot], self.dense[slot] = top, place.row, place.dense
        self.size += 1
        return slot
