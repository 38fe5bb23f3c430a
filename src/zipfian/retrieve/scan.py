"""The scan of coded vectors on some threads: which documents may be among the k best of each query.

Threads take blocks of rows as they come to them, and tell each other how high the floor is: what one has found
rules out rows of the other. Queries of a batch share the reading of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.codes import Codes, DenseQuery, scan_kernels

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

_BLOCK_BYTES = 1 << 21
"""Bytes of the upper plane in a block: few enough that threads end together, so many that Python does not count."""

_THREAD_BYTES = 1 << 23
"""Bytes of the upper plane that are worth a thread of their own; starting one takes about as long as reading 1 MB."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that may be among the k best: no other is."""

    docs: Ints
    high: F64
    """Numbers that their scores do not exceed, largest first."""
    floor: float
    """A number that the k-th best score reaches at least."""


def scan(
    parts: Sequence[tuple[Codes, int]], queries: Sequence[DenseQuery], allowed: Bools, k: int, threads: int
) -> list[Candidates]:
    """Compare segments (codes, number of the first document) with all queries; at least k documents are allowed."""
    asked = [codes.ask(queries) for codes, _ in parts]
    blocks = iter(_blocks(parts))  # a list's iterator hands each item to one thread
    size = sum(codes.coded.upper.nbytes for codes, _ in parts)
    workers = max(1, min(threads, size // _THREAD_BYTES))
    floors = np.full((workers, len(queries)), -np.inf)
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        side_by_side = map if pool is None else pool.map
        listed = list(side_by_side(lambda me: _first(parts, asked, blocks, allowed, k, floors, me), range(workers)))
        floor = floors.max(axis=0)
        done = [found for each in listed for found in each.looked]
        waiting = _waiting([found for each in listed for found in each.waiting], floor, workers)
        done += side_by_side(lambda found: _second(parts, asked, found), waiting)
    return [_gathered([f for f in done if f.query == j], parts, float(floor[j])) for j in range(len(queries))]


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows of a segment that may be among the best of a query."""

    part: int
    query: int
    rows: Ints
    high: F64
    """Numbers that their scores do not exceed."""


@dataclass(frozen=True, slots=True)
class _Share:
    """What one thread has listed: rows compared in 8 bits, and rows that 4 bits have not ruled out."""

    looked: list[_Listed]
    waiting: list[_Listed]


def _blocks(parts: Sequence[tuple[Codes, int]]) -> list[tuple[int, int, int]]:
    """(segment, first row, end) of all blocks."""
    out = []
    for part, (codes, _) in enumerate(parts):
        rows = max(1, _BLOCK_BYTES // codes.half)
        out += [(part, start, min(len(codes), start + rows)) for start in range(0, len(codes), rows)]
    return out


def _first(
    parts: Sequence[tuple[Codes, int]], asked: Sequence[Any], blocks: Iterator[tuple[int, int, int]], allowed: Bools,
    k: int, floors: F64, me: int,
) -> _Share:  # fmt: skip
    """One thread's share of the first look."""
    kernels = scan_kernels()

    n = floors.shape[1]
    share = _Share([], [])
    best: Any = None
    for part, start, stop in blocks:
        codes, base = parts[part]
        if best is None or best.near.shape[1] < stop - start:
            heap = (np.empty((n, k)), np.empty((n, k), np.int64), np.zeros(n, np.int64)) if best is None else best[:3]
            best = kernels.Best(*heap, np.empty(n), *(x for _ in range(2) for x in _room(n, stop - start)))
        best.floor[:] = floors.max(axis=0)
        best.looked[:] = best.left[:] = 0
        kernels.scan(codes.coded, asked[part], allowed, start, stop, base, k, best)
        floors[me] = best.floor
        for j in range(n):
            looked, left = int(best.looked[j]), int(best.left[j])
            if looked:
                share.looked.append(_Listed(part, j, best.near[j, :looked].copy(), best.near_high[j, :looked].copy()))
            if left:
                share.waiting.append(_Listed(part, j, best.far[j, :left].copy(), best.far_high[j, :left].copy()))
    return share


def _room(queries: int, rows: int) -> tuple[Ints, Ints, F64]:
    return np.zeros(queries, np.int64), np.empty((queries, rows), np.int64), np.empty((queries, rows))


def _waiting(found: Sequence[_Listed], floor: F64, workers: int) -> list[_Listed]:
    """The rows that the final floor has not ruled out, in pieces for the threads."""
    groups: dict[tuple[int, int], list[Ints]] = {}
    for one in found:
        groups.setdefault((one.part, one.query), []).append(one.rows[one.high >= floor[one.query]])
    out = []
    for (part, query), rows in groups.items():
        for piece in np.array_split(np.concatenate(rows), workers):
            if len(piece):
                out.append(_Listed(part, query, piece, np.empty(len(piece))))
    return out


def _second(parts: Sequence[tuple[Codes, int]], asked: Sequence[Any], found: _Listed) -> _Listed:
    """The closer look at rows that waited."""
    scan_kernels().look_closer(parts[found.part][0].coded, asked[found.part], found.query, found.rows, found.high)
    return found


def _gathered(found: Sequence[_Listed], parts: Sequence[tuple[Codes, int]], floor: float) -> Candidates:
    """What all threads found for a query, without what the floor has overtaken."""
    docs = np.concatenate([np.empty(0, np.int64), *(one.rows + parts[one.part][1] for one in found)])
    high = np.concatenate([np.empty(0), *(one.high for one in found)])
    kept = np.flatnonzero(high >= floor)
    order = kept[np.lexsort((docs[kept], -high[kept]))]
    return Candidates(docs[order], high[order], floor)
