"""Exact scores of a search's candidates: the postings of the query's terms in their documents, looked up together.

An index by document would give a candidate's terms in one read, and would hold every posting a second time. The lists
hold them too, but in many places, each some hundred steps of the processor away. So everything is asked for before it
is used, for a whole group of candidates: where windows begin, then the places in the lists, then the weights found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.lookup import find, guess, in_window, rank_of, stored, stretch_of, stretch_of_last
from zipfian.retrieve.kernels.prefetch import prefetch, prefetch2
from zipfian.retrieve.layout import LOG_CHUNK, LOG_WINDOW, MASK, SPAN, WINDOW

TOGETHER = 255
"""Candidates of a group: their numbers, from 1, fit in a byte."""

READ = 20
"""A window of a list is read rather than searched up to this many postings for each candidate (measured)."""

LINE = 32
"""Places (16 bits each) in a line of the cache."""


@kernel
def _runs(docs: Any) -> Any:
    """Where the candidates of each window begin; documents of a window stand together."""
    out = np.empty(len(docs) + 1, np.int64)
    n = 0
    for i in range(len(docs)):
        if i == 0 or docs[i] >> LOG_WINDOW != docs[i - 1] >> LOG_WINDOW:
            out[n] = i
            n += 1
    out[n] = len(docs)
    return out[: n + 1]


@kernel
def _approach(p: Postings, n_docs: int, last: int, slots: Any, docs: Any, runs: Any, span: Any) -> None:
    """Start loading what `_look` reads; `span` gets from where to where each window lies in each list."""
    m = len(slots)
    loc, rows, rank = p.loc, p.rows, p.rank
    for j in range(m):
        row = p.row[slots[j]]
        if row >= 0:
            for r in range(len(runs) - 1):
                prefetch2(p.bounds, row, docs[runs[r]] >> LOG_WINDOW)
    for r in range(len(runs) - 1):
        w = docs[runs[r]] >> LOG_WINDOW
        n = runs[r + 1] - runs[r]
        stretch = stretch_of(w, n_docs, last)
        for j in range(m):
            s = slots[j]
            lo, hi = in_window(p, s, w)
            span[r * m + j, 0] = lo
            span[r * m + j, 1] = hi
            dense = p.dense[s]
            if hi - lo <= READ * n:
                for at in range(lo, hi, LINE):
                    prefetch(loc, at)
            elif dense >= 0:
                for i in range(runs[r], runs[r + 1]):
                    prefetch2(rows, dense, docs[i])
                    prefetch2(rank, dense, docs[i] >> LOG_CHUNK)
            else:
                for i in range(runs[r], runs[r + 1]):
                    at = guess(lo, hi, docs[i] & MASK, stretch)
                    for x in range(0, min(SPAN, hi - at), LINE):
                        prefetch(loc, at + x)


@inlined
def _read(loc: Any, lo: int, hi: int, mark: Any, n: int, at_hit: Any, of_hit: Any) -> Any:
    """Add those of the postings lo .. hi that are a candidate's, found by its mark, without a branch to mispredict."""
    hits = np.uint64(n)
    for at in range(np.uint64(lo), np.uint64(hi)):
        mine = mark[loc[at]]
        at_hit[hits] = at
        of_hit[hits] = mine
        hits += np.uint64(mine > 0)
    return np.int64(hits)  # int() would leave it unsigned


@kernel
def _look(
    p: Postings, n_docs: int, last: int, slots: Any, docs: Any, runs: Any, span: Any, mark: Any, upto: Any, at_hit: Any,
    of_hit: Any,
) -> None:  # fmt: skip
    """Find the postings of a group: window by window, and in it term by term; `upto` gets where those of each end."""
    m = len(slots)
    # out of the tuple once: taking an array out of it counts a reference, which costs as much as finding a posting
    loc, rows, rank, code, tf = p.loc, p.rows, p.rank, p.code, p.tf
    start, dense_of = p.start, p.dense
    hits = np.int64(0)
    for r in range(len(runs) - 1):
        begin, end = runs[r], runs[r + 1]
        stretch = stretch_of(docs[begin] >> LOG_WINDOW, n_docs, last)
        for i in range(begin, end):
            mark[docs[i] & MASK] = np.uint8(i + 1)
        for j in range(m):
            lo, hi = span[r * m + j, 0], span[r * m + j, 1]
            dense = dense_of[slots[j]]
            if hi - lo <= READ * (end - begin):
                hits = _read(loc, lo, hi, mark, hits, at_hit, of_hit)
            else:
                for i in range(begin, end):
                    d = docs[i]
                    if dense < 0:
                        at = find(loc, lo, hi, d & MASK, stretch)
                        mine = at < hi and int(loc[at]) == d & MASK
                    else:
                        at = start[slots[j]] + rank_of(rows, rank, dense, d)
                        mine = rows[dense, d] > 0
                    at_hit[hits] = at
                    of_hit[hits] = i + 1
                    hits += np.int64(mine)
            upto[r * m + j] = hits
        for h in range(0 if r == 0 else upto[r * m - 1], hits):
            if len(code) > 0:
                prefetch(code, at_hit[h])
            else:
                prefetch(tf, at_hit[h])
        for i in range(begin, end):
            mark[docs[i] & MASK] = 0


@kernel
def score_candidates(p: Postings, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any) -> Any:
    """`score_docs` for different documents of which those of a window stand together, as a sweep gives them."""
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    n, m = len(docs), len(slots)
    out = np.zeros(n, np.float64)
    most = min(n, TOGETHER)
    at_hit, of_hit = np.empty(m * most + 1, np.uint64), np.empty(m * most + 1, np.uint8)
    mark = np.zeros(WINDOW, np.uint8)
    code, table, tf = p.code, p.table, p.tf
    last = stretch_of_last(len(norm))
    for first in range(0, n, TOGETHER):
        some = docs[first : first + TOGETHER]
        for d in some:
            prefetch(norm, d)
        runs = _runs(some)
        n_parts = (len(runs) - 1) * m
        span, upto = np.empty((n_parts, 2), np.int64), np.empty(n_parts, np.int64)
        _approach(p, len(norm), last, slots, some, runs, span)
        _look(p, len(norm), last, slots, some, runs, span, mark, upto, at_hit, of_hit)
        hit = np.int64(0)
        for part in range(n_parts):
            factor = weight[part % m]
            while hit < upto[part]:
                i = int(of_hit[hit]) - 1
                x = stored(code, table, tf, at_hit[hit])
                out[first + i] += factor * impact(x, norm[some[i]], family, a, b, c, phi)
                hit += 1
    return out
