"""Laying posting lists out: inversion, 8-bit impacts, window bounds, dense rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_WINDOW, MASK, TINY


@kernel
def fill_long(
    docs: Any, tf: Any, norm: Any, spec: Any, loc: Any, q: Any, bounds_row: Any, offset: int, dense_row: Any,
    peak_row: Any, rank_row: Any,
) -> float:  # fmt: skip
    """Quantise one list into its slot; returns the largest impact. Empty arrays switch off bounds / dense row.

    q is the impact in 255ths of the largest, rounded up and at least 1: never below the impact (but for the rounding
    of one float product, see `topk`), never more than 1 above it.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    n = len(docs)
    value = np.empty(n, np.float64)
    top = 0.0
    for i in range(n):
        v = impact(tf[i], norm[docs[i]], family, a, b, c, phi)
        value[i] = v
        if v > top:
            top = v
    scale = 255.0 / top * (1.0 - 1e-12) if top > TINY else 0.0
    for i in range(n):
        loc[i] = np.uint16(docs[i] & MASK)
        q[i] = np.uint8(min(255.0, max(1.0, math.ceil(value[i] * scale))))
    if len(bounds_row) > 0:
        _bounds(docs, offset, bounds_row)
    if len(dense_row) > 0:
        for i in range(n):
            d = docs[i]
            dense_row[d] = q[i]
            peak_row[d >> LOG_CHUNK] = max(peak_row[d >> LOG_CHUNK], q[i])
        p = 0
        for x in range(len(rank_row)):
            while p < n and docs[p] < x * CHUNK:
                p += 1
            rank_row[x] = p
    return top


@kernel
def _bounds(docs: Any, offset: int, bounds_row: Any) -> None:
    """Where each window starts in a list that begins at `offset`."""
    n = len(docs)
    p = 0
    for w in range(len(bounds_row) - 1):
        while p < n and docs[p] < (w << LOG_WINDOW):
            p += 1
        bounds_row[w] = offset + p
    bounds_row[len(bounds_row) - 1] = offset + n


@kernel
def documents(p: Postings, s: int, docs: Any) -> None:
    """The documents of a slot, ascending."""
    start = p.start[s]
    r = p.row[s]
    if r < 0:
        for i in range(len(docs)):
            docs[i] = (int(p.high[p.high_start[s] + i]) << LOG_WINDOW) | int(p.loc[start + i])
        return
    for w in range(p.bounds.shape[1] - 1):
        for at in range(p.bounds[r, w], p.bounds[r, w + 1]):
            docs[at - start] = (w << LOG_WINDOW) | int(p.loc[at])


@kernel
def fill_all(docs: Any, norm: Any, spec: Any, p: Postings) -> None:
    """Fill every slot of a freshly inverted index (slot = term); `tf`, start, stop, row, dense are set already."""
    none64 = np.empty(0, np.int64)
    none8 = np.empty(0, np.uint8)
    none32 = np.empty(0, np.int32)
    for s in range(len(p.start)):
        lo, hi = p.start[s], p.stop[s]
        if lo == hi:
            continue
        r = p.row[s]
        b = p.bounds[r] if r >= 0 else none64
        dr = p.rows[p.dense[s]] if p.dense[s] >= 0 else none8
        pr = p.peak[p.dense[s]] if p.dense[s] >= 0 else none8
        rr = p.rank[p.dense[s]] if p.dense[s] >= 0 else none32
        p.top[s] = fill_long(docs[lo:hi], p.tf[lo:hi], norm, spec, p.loc[lo:hi], p.q[lo:hi], b, lo, dr, pr, rr)
        if r < 0:
            h = p.high_start[s]
            for i in range(hi - lo):
                p.high[h + i] = np.uint16(docs[lo + i] >> LOG_WINDOW)


@kernel
def invert(indptr: Any, indices: Any, weights: Any, start: Any, docs: Any, tf: Any) -> None:
    """CSR by document -> term starts, documents and weights by term, documents ascending; `start` comes zeroed.

    The caller allocates: numpy asks for large pages where it can, and these arrays are written in no order at all.
    """
    n_terms = len(start) - 1
    for t in indices:
        start[np.uint64(t + 1)] += 1
    for t in range(n_terms):
        start[t + 1] += start[t]
    at = start[:-1].copy()
    for d in range(len(indptr) - 1):
        for j in range(np.uint64(indptr[d]), np.uint64(indptr[d + 1])):
            t = np.uint64(indices[j])
            p = np.uint64(at[t])
            at[t] += 1
            docs[p] = d
            tf[p] = weights[j]


@kernel
def row_sums(indptr: Any, values: Any) -> Any:
    """Sum of every CSR row, left to right."""
    out = np.zeros(len(indptr) - 1, np.float64)
    for d in range(len(indptr) - 1):
        s = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            s += values[j]
        out[d] = s
    return out
