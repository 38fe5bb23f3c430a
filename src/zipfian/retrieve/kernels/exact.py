"""Exact scores in float64, from stored weights and norms, terms in query order.

Every number a search returns comes from one of these two kernels or from `candidates`. They add the same products in
the same order, so they agree to the last bit: nothing here uses fastmath or reorders a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.heaps import drain, offer
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.kernels.lookup import find, in_window, rank_of, stored, stretch_of, stretch_of_last
from zipfian.retrieve.layout import LOG_WINDOW, MASK, WINDOW


@kernel
def score_docs(p: Postings, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any) -> Any:
    """Exact scores of given documents; 0 where no term is shared.

    Term by term, so that with ascending documents the look-ups walk each list once, forwards.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    loc, rows, rank, code, table, tf = p.loc, p.rows, p.rank, p.code, p.table, p.tf
    n = len(docs)
    last = stretch_of_last(len(norm))
    out = np.zeros(n, np.float64)
    for j in range(len(slots)):
        s = slots[j]
        dense = p.dense[s]
        start = p.start[s]
        for i in range(n):
            d = docs[i]
            if dense >= 0:
                at = start + rank_of(rows, rank, dense, d)
                mine = rows[dense, d] > 0
            else:
                lo, hi = in_window(p, s, d >> LOG_WINDOW)
                at = find(loc, lo, hi, d & MASK, stretch_of(d >> LOG_WINDOW, len(norm), last))
                mine = at < hi and int(loc[at]) == d & MASK
            if mine:
                out[i] += weight[j] * impact(stored(code, table, tf, at), norm[d], family, a, b, c, phi)
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
    code, table, tf = p.code, p.table, p.tf
    start, stop, loc, row, bounds, high = p.start, p.stop, p.loc, p.row, p.bounds, p.high
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
            r = row[s]
            if r >= 0:
                lo = start[s] + bounds[r, w]
                hi = start[s] + bounds[r, w + 1]
            else:
                lo = cur[j]
                hi = lo
                shift = p.high_start[s] - p.start[s]
                while hi < stop[s] and high[hi + shift] == w:
                    hi += 1
                cur[j] = hi
            any_hit |= hi > lo
            for at in range(np.uint64(lo), np.uint64(hi)):
                x = np.uint64(loc[at])
                tf_at = stored(code, table, tf, at)
                acc[x] += weight[j] * impact(tf_at, norm[np.uint64(base) + x], family, a, b, c, phi)
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
