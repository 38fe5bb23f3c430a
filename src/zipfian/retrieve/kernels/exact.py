"""Exact scores in float64, from stored weights and norms, terms in query order.

Every number a search returns comes from one of these three kernels. They add the same products in the same order, so
they agree to the last bit: nothing here uses fastmath or reorders a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Forward, Postings
from zipfian.retrieve.kernels.heaps import drain, offer
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.prefetch import prefetch
from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_WINDOW, MASK, WINDOW

_AHEAD = 8
"""Documents whose rows are being fetched while one is scored."""

_ONE = np.uint64(1)


@kernel
def _find_long(loc: Any, lo: int, hi: int, x: int) -> int:
    """First position in lo .. hi with loc >= x, by interpolation (documents spread evenly) and doubling steps."""
    if lo >= hi:
        return hi
    at = lo + ((x * (hi - lo)) >> LOG_WINDOW)
    step = 4
    if int(loc[at]) < x:
        lo = at + 1
        while lo < hi:
            at = lo + step
            if at >= hi:
                break
            if int(loc[at]) >= x:
                hi = at
                break
            lo = at + 1
            step *= 2
    else:
        hi = at
        while lo < hi:
            at = hi - step
            if at <= lo:
                break
            if int(loc[at]) < x:
                lo = at + 1
                break
            hi = at
            step *= 2
    while lo < hi:
        mid = (lo + hi) >> 1
        if int(loc[mid]) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def _find_short(p: Postings, s: int, d: int) -> int:
    """First position of a short list whose document is >= d."""
    shift = p.high_start[s] - p.start[s]
    lo, hi = p.start[s], p.stop[s]
    while lo < hi:
        mid = (lo + hi) >> 1
        if ((int(p.high[mid + shift]) << LOG_WINDOW) | int(p.loc[mid])) < d:
            lo = mid + 1
        else:
            hi = mid
    return lo


@inlined
def _rank(p: Postings, s: int, dense: int, d: int) -> int:
    """Position of document d, known to be there, in the list of a term with a dense row."""
    x = d & (CHUNK - 1)
    part = p.rows[dense, d - x : d - x + CHUNK]
    before = np.uint8(0)
    for y in range(CHUNK):
        before = np.uint8(before + np.uint8((part[y] > 0) & (y < x)))
    return p.start[s] + p.rank[dense, d >> LOG_CHUNK] + int(before)


@kernel
def score_docs(p: Postings, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any) -> Any:
    """Exact scores of given documents; 0 where no term is shared.

    Term by term, so that with ascending documents the look-ups walk each list once, forwards.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    n = len(docs)
    out = np.zeros(n, np.float64)
    for j in range(len(slots)):
        s = slots[j]
        r = p.row[s]
        dense = p.dense[s]
        for i in range(n):
            d = docs[i]
            if dense >= 0:
                if p.rows[dense, d] == 0:
                    continue
                at = _rank(p, s, dense, d)
            elif r >= 0:
                end = p.bounds[r, (d >> LOG_WINDOW) + 1]
                at = _find_long(p.loc, p.bounds[r, d >> LOG_WINDOW], end, d & MASK)
                if at >= end or int(p.loc[at]) != d & MASK:
                    continue
            else:
                at = _find_short(p, s, d)
                if at >= p.stop[s]:
                    continue
                window = int(p.high[at + p.high_start[s] - p.start[s]])
                if (window << LOG_WINDOW) | int(p.loc[at]) != d:
                    continue
            out[i] += weight[j] * impact(p.tf[at], norm[d], family, a, b, c, phi)
    return out


@kernel
def score_rows(fwd: Forward, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any, place: Any) -> Any:
    """`score_docs` through the documents' own rows: one short sequential read each instead of a search per term.

    `place` (int16 per term, all 0) maps terms to query places while this runs. Slots must ascend: then a row's order is
    the query's order and the sum has the same bits.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    for j in range(len(slots)):
        place[slots[j]] = j + 1
    out = np.zeros(len(docs), np.float64)
    at_hit = np.empty(len(slots) + 1, np.uint64)
    of_hit = np.empty(len(slots) + 1, np.uint64)
    for i in range(len(docs)):
        prefetch(fwd.indptr, docs[i])
        prefetch(norm, docs[i])
    for i in range(len(docs) + _AHEAD):
        if i < len(docs):
            lo, hi = fwd.indptr[docs[i]], fwd.indptr[docs[i] + 1]
            for at in range(lo, hi, 16):
                prefetch(fwd.terms, at)
                prefetch(fwd.tf, at)
        if i < _AHEAD:
            continue
        d = docs[i - _AHEAD]
        hits = np.uint64(0)  # first find the shared terms, without a branch to mispredict, then add them up
        for x in range(np.uint64(fwd.indptr[d]), np.uint64(fwd.indptr[d + 1])):
            term = np.uint64(place[np.uint32(fwd.terms[x])])
            at_hit[hits] = x
            of_hit[hits] = term
            hits += np.uint64(term > 0)
        total = 0.0
        for h in range(hits):
            total += weight[of_hit[h] - _ONE] * impact(fwd.tf[at_hit[h]], norm[d], family, a, b, c, phi)
        out[i - _AHEAD] = total
    for j in range(len(slots)):
        place[slots[j]] = 0
    return out


@kernel
def exact_topk(
    p: Postings, n_windows: int, norm: Any, spec: Any, slots: Any, weight: Any, k: int, mask: Any,
    out_docs: Any, out_scores: Any,
) -> Any:  # fmt: skip
    """Top-k by accumulation of every posting, window by window; returns how many.

    The plain path: it serves queries whose lists are beyond the budget or that have very many near-ties, and tests as
    an independent witness.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    m = len(slots)
    acc = np.zeros(WINDOW, np.float64)
    scores = np.empty(k, np.float64)
    docs = np.empty(k, np.int64)
    cur = np.empty(m, np.int64)
    for j in range(m):
        cur[j] = p.start[slots[j]]
    filtered = len(mask) > 0
    n = np.int64(0)
    for w in range(n_windows):
        base = w << LOG_WINDOW
        any_hit = False
        for j in range(m):
            s = slots[j]
            r = p.row[s]
            if r >= 0:
                lo = p.bounds[r, w]
                hi = p.bounds[r, w + 1]
            else:
                lo = cur[j]
                hi = lo
                shift = p.high_start[s] - p.start[s]
                while hi < p.stop[s] and p.high[hi + shift] == w:
                    hi += 1
                cur[j] = hi
            any_hit |= hi > lo
            for at in range(np.uint64(lo), np.uint64(hi)):
                x = np.uint64(p.loc[at])
                acc[x] += weight[j] * impact(p.tf[at], norm[np.uint64(base) + x], family, a, b, c, phi)
        if not any_hit:
            continue
        for d in range(WINDOW):
            v = acc[d]
            if v > 0.0:
                acc[d] = 0.0
                if (n < k or v > scores[0]) and (not filtered or mask[base + d]):
                    n = offer(scores, docs, n, k, v, base + d)
    drain(scores, docs, n, out_docs, out_scores)
    return n
