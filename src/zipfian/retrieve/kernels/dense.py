"""Scanning pooled vectors: 4-bit codes for all documents, 8 bits where those cannot rule one out, exact products last.

The products of codes are whole numbers and exact, so a scan's only errors are those of the roundings (of the document
and of the query), and `codes` bounds both. `retrieve.dense` says how that proves a result right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from zipfian.retrieve.kernels.codes import ALONG, ERROR, MIDDLE, SIZE, STEP, UPPER_MIDDLE, Coded
from zipfian.retrieve.kernels.heaps import drain, offer
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.nibbles import dot_nibbles
from zipfian.retrieve.kernels.prefetch import prefetch2

LANES = 8
"""Partial sums of an exact product: a fixed order of additions that still fills a vector register."""

BLOCK = 128
"""Rows that all queries of a batch are compared with before the next are read: they stay in the first-level cache."""

LINE = 64
"""Bytes of a line of the cache."""

AHEAD = 32
"""Rows between the one that is fetched and the one that is compared."""


class Asked(NamedTuple):
    """The queries of a batch against one segment's codes. A query's code is 128 x coarse + fine, in steps."""

    coarse: Any  # int8[queries, 2 x half]
    fine: Any  # int8[queries, 2 x half]
    sums: Any  # int64[2, queries]: of either
    step: Any  # float64[queries]
    along: Any  # float64[queries]: product with the segment's common direction
    slack: Any  # float64[2, queries, 3]: per unit of a row's error, size and |along|: how far a score may lie off
    least: Any  # float64[queries]: and how far it may whatever the row


class Best(NamedTuple):
    """What a scan has found, for each query of a batch."""

    low: Any  # float64[queries, k]: a heap of the k best lower bounds
    docs: Any  # int64[queries, k]: their documents
    n: Any  # int64[queries]: how many there are
    floor: Any  # float64[queries]: a number that the k-th best score reaches at least
    looked: Any  # int64[queries]: rows that were compared in 8 bits,
    near: Any  # int64[queries, rows]: which they are,
    near_high: Any  # float64[queries, rows]: and numbers that their scores do not exceed
    left: Any  # int64[queries]: rows that may reach the floor, compared in 4 bits only,
    far: Any  # int64[queries, rows]: which they are,
    far_high: Any  # float64[queries, rows]: and numbers that their scores do not exceed


@kernel
def dot(a: Any, b: Any) -> float:
    """The product of a float32 row and a float64 vector, in float64, always in the same order."""
    n = len(a)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = n - n % LANES
    for i in range(0, whole, LANES):
        s0 += np.float64(a[i]) * b[i]
        s1 += np.float64(a[i + 1]) * b[i + 1]
        s2 += np.float64(a[i + 2]) * b[i + 2]
        s3 += np.float64(a[i + 3]) * b[i + 3]
        s4 += np.float64(a[i + 4]) * b[i + 4]
        s5 += np.float64(a[i + 5]) * b[i + 5]
        s6 += np.float64(a[i + 6]) * b[i + 6]
        s7 += np.float64(a[i + 7]) * b[i + 7]
    for i in range(whole, n):
        s0 += np.float64(a[i]) * b[i]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@inlined
def _off(
    error: float, size: float, along: float, per_error: float, per_size: float, per_along: float, least: float
) -> Any:
    """How far the score of a row may lie from what its codes say."""
    return per_error * error + per_size * size + per_along * abs(along) + least


@kernel
def scan(coded: Coded, asked: Asked, allowed: Any, start: int, stop: int, base: int, k: int, best: Best) -> None:
    """Compare rows start .. stop, documents base + start and so on, with all queries.

    Every allowed row that may reach the floor is listed. One that seems to pass it is compared in 8 bits at once, which
    raises the floor; the others wait until it is as high as it gets, and most of them have not to be looked at again.
    """
    rows = np.empty(BLOCK + 1, np.uint64)  # unsigned: no test for indices counted from the end
    products, near, high = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    about = np.empty((4, BLOCK), np.float64)
    for block in range(start, stop, BLOCK):
        n = np.uint64(0)
        for d in range(np.uint64(block), np.uint64(min(stop, block + BLOCK))):
            rows[n] = d
            n += np.uint64(allowed[np.uint64(base) + d])
        for i in range(n):  # as columns, once for all queries: what follows are vector instructions then
            for x in range(4):
                about[x, i] = coded.about[rows[i], x]
        for j in range(len(asked.coarse)):
            _first_products(coded.upper, rows, n, j == 0, asked.coarse[j], products)
            _bounds(about, products, n, asked, j, near, high)
            _sort_out(coded, asked, j, rows, n, near, high, base, k, best)


@kernel
def _bounds(about: Any, products: Any, n: int, asked: Asked, j: int, near: Any, high: Any) -> None:
    """What the upper four bits of some rows say of their scores, and numbers that those do not exceed."""
    unit, along, least = 128.0 * asked.step[j], asked.along[j], asked.least[j]
    middle = UPPER_MIDDLE * np.float64(asked.sums[0, j])
    per_error, per_size, per_along = asked.slack[0, j, 0], asked.slack[0, j, 1], asked.slack[0, j, 2]
    step, size, aligned, error = about[STEP], about[SIZE], about[ALONG], about[ERROR]
    for i in range(n):
        near[i] = (16.0 * np.float64(products[i]) - middle) * (step[i] * unit) + aligned[i] * along
        high[i] = near[i] + _off(error[i], size[i], aligned[i], per_error, per_size, per_along, least)


@kernel
def _first_products(upper: Any, rows: Any, n: int, fetch: bool, query: Any, out: Any) -> None:
    """Products of some rows' upper four bits with the coarse codes of a query."""
    for i in range(n):
        if fetch:  # the processor's own guess is a third slower (measured: 22 ms against 16 for a million rows)
            for at in range(0, upper.shape[1], LINE):
                prefetch2(upper, rows[i] + np.uint64(AHEAD), at)
        out[i] = dot_nibbles(upper, rows[i], query)


@kernel
def _sort_out(
    coded: Coded, asked: Asked, j: int, rows: Any, n: int, near: Any, high: Any, base: int, k: int, best: Best
) -> None:
    """Which of some rows are done with, which wait, and which are looked at closer."""
    floor, left = best.floor[j], best.left[j]
    for i in range(n):
        if high[i] < floor:
            continue
        if near[i] < floor:
            best.far[j, left] = rows[i]
            best.far_high[j, left] = high[i]
            left += 1
        else:
            floor = _raise(coded, asked, j, rows[i], base, k, best)
    best.left[j] = left


@kernel
def _raise(coded: Coded, asked: Asked, j: int, d: int, base: int, k: int, best: Best) -> float:
    """Compare a row in 8 bits and list it -> the floor, which it may have raised."""
    near, slack = _closer(coded, asked, j, d)
    at = best.looked[j]
    best.near[j, at] = d
    best.near_high[j, at] = near + slack
    best.looked[j] = at + 1
    best.n[j] = offer(best.low[j], best.docs[j], best.n[j], k, near - slack, base + d)
    if best.n[j] == k:
        best.floor[j] = max(best.floor[j], best.low[j, 0])
    return float(best.floor[j])


@kernel
def _closer(coded: Coded, asked: Asked, j: int, d: int) -> Any:
    """What 8 bits say of a row's score, and how far it may lie off."""
    coarse, fine = asked.coarse[j], asked.fine[j]
    upper = 128 * np.int64(dot_nibbles(coded.upper, d, coarse)) + np.int64(dot_nibbles(coded.upper, d, fine))
    lower = 128 * np.int64(dot_nibbles(coded.lower, d, coarse)) + np.int64(dot_nibbles(coded.lower, d, fine))
    middle = MIDDLE * np.float64(128 * asked.sums[0, j] + asked.sums[1, j])
    about = coded.about_both
    near = (np.float64(16 * upper + lower) - middle) * (np.float64(about[d, STEP]) * asked.step[j])
    near += np.float64(about[d, ALONG]) * asked.along[j]
    per_error, per_size, per_along = asked.slack[1, j, 0], asked.slack[1, j, 1], asked.slack[1, j, 2]
    error, size, along = np.float64(about[d, ERROR]), np.float64(about[d, SIZE]), np.float64(about[d, ALONG])
    return near, _off(error, size, along, per_error, per_size, per_along, asked.least[j])


@kernel
def look_closer(coded: Coded, asked: Asked, j: int, rows: Any, high: Any) -> None:
    """Compare rows with query j in 8 bits; `high` gets numbers that their scores do not exceed."""
    n = len(rows)
    for i in range(n + AHEAD):
        if i < n:
            d = rows[i]
            prefetch2(coded.about_both, d, 0)
            for at in range(0, coded.upper.shape[1], LINE):
                prefetch2(coded.upper, d, at)
                prefetch2(coded.lower, d, at)
        if i >= AHEAD:
            near, slack = _closer(coded, asked, j, rows[i - AHEAD])
            high[i - AHEAD] = near + slack


@kernel
def dots(rows: Any, factor: Any, query: Any, out: Any) -> None:
    """Exact scores of rows: product with the query times the row's own factor."""
    for r in range(len(rows)):
        out[r] = dot(rows[r], query) * factor[r]


@kernel
def keep_best(scores: Any, docs: Any, heap: Any, heap_docs: Any, n: int, k: int) -> int:
    """Offer scored documents to a heap of the k best; returns its new size."""
    for i in range(len(docs)):
        n = offer(heap, heap_docs, n, k, scores[i], docs[i])
    return n


@kernel
def empty_heap(heap: Any, heap_docs: Any, n: int, out_docs: Any, out_scores: Any) -> None:
    """The heap, best first; equal scores in document order."""
    drain(heap, heap_docs, n, out_docs, out_scores)
