"""Laying posting lists out: inversion, 8-bit impacts, window bounds, dense rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.kernels.lookup import stored
from zipfian.retrieve.layout import CHUNK, CODES, LOG_CHUNK, LOG_WINDOW, MASK, TINY

LOG_HASHED = 18
HASH_SHIFT = np.uint64(64 - LOG_HASHED)
HASH_MASK = np.uint64((1 << LOG_HASHED) - 1)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
ONE = np.uint64(1)
"""Weights are found by multiplicative hashing (Knuth 6.4); no more than a quarter of the places is taken."""


@kernel
def fill_long(
    docs: Any, tf: Any, norm: Any, spec: Any, loc: Any, q: Any, bounds_row: Any, dense_row: Any,
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
        _bounds(docs, bounds_row)
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
def _bounds(docs: Any, bounds_row: Any) -> None:
    """How many postings lie before each window."""
    n = len(docs)
    p = 0
    for w in range(len(bounds_row) - 1):
        while p < n and docs[p] < (w << LOG_WINDOW):
            p += 1
        bounds_row[w] = p
    bounds_row[len(bounds_row) - 1] = n


@kernel
def fill_all(norm: Any, spec: Any, p: Postings) -> None:
    """Impacts, dense rows and largest impacts of every slot of a freshly inverted index (slot = term)."""
    none8 = np.empty(0, np.uint8)
    none32 = np.empty(0, np.int32)
    for s in range(len(p.start)):
        lo, hi = p.start[s], p.stop[s]
        if lo == hi:
            continue
        docs, tf = np.empty(hi - lo, np.int32), np.empty(hi - lo, np.float64)
        unfold(p, s, docs, tf)
        dr = p.rows[p.dense[s]] if p.dense[s] >= 0 else none8
        pr = p.peak[p.dense[s]] if p.dense[s] >= 0 else none8
        rr = p.rank[p.dense[s]] if p.dense[s] >= 0 else none32
        p.top[s] = fill_long(docs, tf, norm, spec, p.loc[lo:hi], p.q[lo:hi], none32, dr, pr, rr)


@kernel
def unfold(p: Postings, s: int, docs: Any, tf: Any) -> None:
    """Documents and weights of a slot, as a list outside of an index has them."""
    start, r = p.start[s], p.row[s]
    if r >= 0:
        for w in range(p.bounds.shape[1] - 1):
            for i in range(p.bounds[r, w], p.bounds[r, w + 1]):
                docs[i] = np.int32((w << LOG_WINDOW) | int(p.loc[start + i]))
    else:
        for i in range(len(docs)):
            docs[i] = np.int32((int(p.high[p.high_start[s] + i]) << LOG_WINDOW) | int(p.loc[start + i]))
    for i in range(len(docs)):
        tf[i] = stored(p.code, p.table, p.tf, start + i)


@kernel
def count_terms(indices: Any, start: Any) -> None:
    """Where each term's list begins (and the last ends); `start` comes zeroed."""
    for t in indices:
        start[np.uint64(t + 1)] += 1
    for t in range(len(start) - 1):
        start[t + 1] += start[t]


@kernel
def invert(indptr: Any, indices: Any, weights: Any, bits: Any, long_slots: Any, p: Postings) -> Any:
    """CSR by document -> places, windows and weights by term, documents ascending (slot = term).

    Returns how many values the weights take, or -1: too many for codes, and nothing here is of use. `bits` are the
    weights' own, as unsigned integers. The caller allocates: numpy asks for large pages where it can, and these arrays
    are written in no order at all.
    """
    at = p.start.copy()
    coded = len(p.code) > 0
    known = np.zeros(1 << LOG_HASHED, np.uint16)  # by hash: 1 + the code, or 0
    key = np.empty(CODES if coded else 0, np.uint64)  # by code: the weight's bits
    n = np.int64(0)
    for d in range(len(indptr) - 1):
        if d & MASK == 0:
            for s in long_slots:
                p.bounds[p.row[s], d >> LOG_WINDOW] = at[s] - p.start[s]
        for j in range(np.uint64(indptr[d]), np.uint64(indptr[d + 1])):
            s = np.uint64(indices[j])
            x = np.uint64(at[s])
            at[s] += 1
            p.loc[x] = np.uint16(d & MASK)
            if p.row[s] < 0:
                p.high[np.uint64(p.high_start[s] + np.int64(x) - p.start[s])] = np.uint16(d >> LOG_WINDOW)
            if not coded:
                p.tf[x] = weights[j]
                continue
            value = np.uint64(bits[j])
            h = (value * SPREAD) >> HASH_SHIFT
            while known[h] > 0 and key[known[h] - 1] != value:
                h = (h + ONE) & HASH_MASK
            if known[h] == 0:
                if n == CODES:
                    return -1
                key[n] = value
                p.table[n] = weights[j]
                n += 1
                known[h] = np.uint16(n)
            p.code[x] = np.uint16(known[h] - 1)
    for s in long_slots:
        p.bounds[p.row[s], p.bounds.shape[1] - 1] = p.stop[s] - p.start[s]
    return n


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
