"""Where a document is in a posting list: for the few documents that are scored again, once per term."""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_WINDOW, SPAN, WINDOW


@inlined
def stored(code: Any, table: Any, tf: Any, at: Any) -> Any:
    """The stored weight of the posting at a position, in float64."""
    if len(code) > 0:
        found = table[code[at]]
    else:
        found = np.float64(tf[at])
    return found


@inlined
def rank_of(rows: Any, rank: Any, dense: int, d: int) -> int:
    """How many postings lie before document d in the list whose dense row this is."""
    x = d & (CHUNK - 1)
    part = rows[dense, d - x : d - x + CHUNK]
    before = np.uint8(0)
    for y in range(CHUNK):
        before = np.uint8(before + np.uint8((part[y] > 0) & (y < x)))
    return rank[dense, d >> LOG_CHUNK] + int(before)


@kernel
def stretch_of_last(n_docs: int) -> int:
    """What stretches the places of the last window, which may have few documents, over a whole one, in 1 / WINDOW."""
    return (WINDOW << LOG_WINDOW) // (((n_docs - 1) & (WINDOW - 1)) + 1)


@inlined
def stretch_of(w: int, n_docs: int, last: int) -> int:
    """The same for any window, given that of the last."""
    return last if w == (n_docs - 1) >> LOG_WINDOW else WINDOW


@kernel
def guess(lo: int, hi: int, x: int, stretch: int) -> int:
    """Where `find` counts from: documents spread evenly, so place x is near its share of the positions."""
    if hi - lo <= SPAN:
        return lo
    return min(max(lo + ((((x * stretch) >> LOG_WINDOW) * (hi - lo)) >> LOG_WINDOW) - SPAN // 2, lo), hi - SPAN)


@kernel
def find(loc: Any, lo: int, hi: int, x: int, stretch: int) -> int:
    """First position in lo .. hi, all of one window, with loc >= x; `stretch` is its `stretch_of`.

    The places below x among SPAN positions are counted: a few vector instructions, where a binary search would
    mispredict every other step. Only if the answer lies outside of these positions are they halved further. `loc` has
    SPAN entries after the last list, so that the count may run over its end.
    """
    first = guess(lo, hi, x, stretch)
    part = loc[first : first + SPAN]
    place, left = np.uint16(x), np.uint16(min(hi - first, SPAN))
    below = np.uint16(0)
    for y in range(SPAN):
        below = np.uint16(below + np.uint16((part[y] < place) & (np.uint16(y) < left)))
    at = first + int(below)
    if (below > 0 or first == lo) and (at < first + SPAN or at == hi):
        return at
    lo, hi = (lo, first) if below == 0 else (first + SPAN, hi)
    while lo < hi:
        mid = (lo + hi) >> 1
        if int(loc[mid]) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def _window(high: Any, lo: int, hi: int, w: int) -> Any:
    """Positions (from, to) in lo .. hi of a short list whose window is w."""
    end = hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if high[mid] < w:
            lo = mid + 1
        else:
            hi = mid
    while hi < end and high[hi] == w:
        hi += 1
    return lo, hi


@inlined
def in_window(p: Postings, s: int, w: int) -> Any:
    """Positions (from, to) of window w in a list."""
    r = p.row[s]
    if r >= 0:
        lo, hi = p.start[s] + p.bounds[r, w], p.start[s] + p.bounds[r, w + 1]
    else:
        shift = p.high_start[s] - p.start[s]
        lo, hi = _window(p.high, p.start[s] + shift, p.stop[s] + shift, w)
        lo, hi = lo - shift, hi - shift
    return lo, hi
