"""The postings of a `SparseIndex` on a device, in parts of consecutive documents, by term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.device import from_host
from zipfian.retrieve.arena import Layout
from zipfian.retrieve.layout import WINDOW
from zipfian.retrieve.weighing import Ids

PART_WINDOWS = 32
"""Windows of a part: a million documents, whose sums take 8 MB a query."""
SHORT = 512
"""Lists of at most so many postings have no cuts: whoever wants those of some documents reads all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where the lists of a part reach each block of its documents; everything on the device."""

    start: Any
    """int64: where each term's postings begin, and where the last one's end."""
    row: Any
    """int32: each term's row of `cuts`, -1 for a short list."""
    cuts: Any
    """int32 (long lists, blocks + 1): postings before each block."""

    @property
    def n_blocks(self) -> int:
        """Blocks of the part."""
        return int(self.cuts.shape[1]) - 1

    @property
    def nbytes(self) -> int:
        """What they take."""
        return int(self.start.nbytes + self.row.nbytes + self.cuts.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The postings of some consecutive documents, by term."""

    first: int
    n_docs: int
    start: Ids
    """Where each term's postings begin; here, because steps are planned here."""
    docs: Any
    """int32 on the device: counted from `first`."""
    impacts: Any
    """float64 on the device."""
    cuts: Cuts | None
    """For engines that work block by block."""

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return int(self.docs.nbytes + self.impacts.nbytes) + (self.cuts.nbytes if self.cuts is not None else 0)


def parts(layout: Layout, device: Any, block_docs: int | None) -> Iterator[Part]:
    """The postings of a layout on a device, part by part; with cuts where blocks are asked for."""
    from zipfian.retrieve import kernels

    p = layout.postings
    for first in range(0, layout.n_windows, PART_WINDOWS):
        last = min(first + PART_WINDOWS, layout.n_windows)
        start = np.zeros(len(p.start) + 1, np.int64)
        kernels.count_range(p, first, last, start)
        docs, impacts = np.empty(start[-1], np.int32), np.empty(start[-1], np.float64)
        kernels.unpack_range(p, first, last, layout.norm, layout.spec, start, docs, impacts)
        n_docs = min(layout.n_docs, last * WINDOW) - first * WINDOW
        found = None if block_docs is None else _cuts(start, docs, n_docs, block_docs, device)
        yield Part(first * WINDOW, n_docs, start, from_host(docs, device), from_host(impacts, device), found)


def _cuts(start: Ids, docs: Any, n_docs: int, block_docs: int, device: Any) -> Cuts:
    from zipfian.retrieve import kernels

    long = np.flatnonzero(np.diff(start) > SHORT)
    row = np.full(len(start) - 1, -1, np.int32)
    row[long] = np.arange(len(long), dtype=np.int32)
    cuts = np.zeros((len(long), -(-n_docs // block_docs) + 1), np.int32)
    kernels.cut_lists(start, docs, long, block_docs, cuts)
    return Cuts(from_host(start, device), from_host(row, device), from_host(cuts, device))
