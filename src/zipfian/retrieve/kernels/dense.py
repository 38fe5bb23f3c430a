"""Scanning pooled vectors: 8-bit codes for all documents, exact dot products for those that may be among the best.

The integer products are exact, so a scan's only errors are those of the two roundings (of the document and of the
query), and Cauchy-Schwarz bounds both. `retrieve.dense` says how that proves a result right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.heaps import drain, offer
from zipfian.retrieve.kernels.jit import kernel

LANES = 8
"""Partial sums of an exact product: a fixed order of additions that still fills a vector register."""

TINY = 1e-30
"""Below this, a length counts as 0."""


@kernel
def dot_codes(a: Any, b: Any) -> Any:
    """The product of an 8-bit and a 16-bit code; the caller makes sure that 32 bits hold it."""
    total = np.int32(0)
    for i in range(len(a)):
        total = np.int32(total + np.int32(np.int32(a[i]) * np.int32(b[i])))
    return total


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


@kernel
def length(a: Any) -> float:
    """The Euclidean length of a float32 row, in float64."""
    total = 0.0
    for i in range(len(a)):
        total += np.float64(a[i]) * np.float64(a[i])
    return math.sqrt(total)


@kernel
def quantise(rows: Any, unit: bool, codes: Any, step: Any, error: Any, size: Any, inverse: Any) -> None:
    """Codes of rows (divided by their length if `unit`), and what is needed to bound their error.

    step: value of one unit of a code. error: length of what rounding took away. size: length of the rounded row.
    Both are rounded up. inverse: 1 / length of the row (1 if not `unit`; 0 for a row of zeros).
    """
    n, dim = rows.shape
    for r in range(n):
        row = rows[r]
        norm = length(row) if unit else 1.0
        inverse[r] = 1.0 / norm if norm > TINY else 0.0
        top = 0.0
        for i in range(dim):
            top = max(top, abs(np.float64(row[i])) * inverse[r])
        width = np.float32(top / 127.0)
        while np.float64(width) * 127.0 < top:  # rounding to float32 must not push a code beyond 127
            width = np.nextafter(width, np.float32(np.inf))
        step[r] = width
        lost, kept = 0.0, 0.0
        for i in range(dim):
            value = np.float64(row[i]) * inverse[r]
            code = np.rint(value / np.float64(width)) if width > 0.0 else 0.0
            codes[r, i] = np.int8(code)
            near = code * np.float64(width)
            lost += (value - near) * (value - near)
            kept += near * near
        grown = math.sqrt(lost) * (1.0 + 1e-7) + 1e-12 * math.sqrt(kept)  # for the rounding of these sums themselves
        error[r] = np.nextafter(np.float32(grown), np.float32(np.inf))
        size[r] = np.nextafter(np.float32(math.sqrt(kept) * (1.0 + 1e-7)), np.float32(np.inf))


@kernel
def scan(
    codes: Any, step: Any, error: Any, size: Any, allowed: Any, query: Any, scale: Any, heap: Any, heap_docs: Any,
    n: int, k: int, base: int, high: Any,
) -> int:  # fmt: skip
    """For every row `high`, a number its score does not exceed (-inf where it is not allowed).

    `scale` holds the query's step, length and rounding error, and the rounding of float64 products per unit of length.
    The heap collects the k best lower bounds under the numbers base, base + 1, ..., so that its root, once it is full,
    is a number that the k-th best score reaches at least. Returns the heap's new size.
    """
    query_step, query_size, query_error, rounding = scale[0], scale[1], scale[2], scale[3]
    for d in range(len(codes)):
        if not allowed[d]:
            high[d] = -np.inf
            continue
        near = np.float64(dot_codes(codes[d], query)) * (np.float64(step[d]) * query_step)
        longest = np.float64(size[d]) + np.float64(error[d])
        slack = query_size * np.float64(error[d]) + query_error * np.float64(size[d]) + rounding * query_size * longest
        high[d] = near + slack
        low = near - slack
        if n < k or low > heap[0]:
            n = offer(heap, heap_docs, n, k, low, base + d)
    return n


@kernel
def collect(high: Any, floor: float, out: Any) -> int:
    """List the documents whose score may reach the floor."""
    n = 0
    for d in range(len(high)):
        out[n] = d
        n += int(high[d] >= floor)
    return n


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
