"""Posting lists as plain arrays: documents and float64 impacts of a range of windows, for engines that are not ours."""

from __future__ import annotations

from typing import Any

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.impact import impact
from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.kernels.lookup import stored
from zipfian.retrieve.layout import LOG_WINDOW


@kernel
def _span(p: Postings, s: int, first: int, last: int) -> Any:
    """Positions of a list's postings in windows first .. last - 1."""
    r = p.row[s]
    if r >= 0:
        return p.start[s] + p.bounds[r, first], p.start[s] + p.bounds[r, last]
    shift = p.high_start[s] - p.start[s]
    lo = p.start[s]
    while lo < p.stop[s] and p.high[lo + shift] < first:
        lo += 1
    hi = lo
    while hi < p.stop[s] and p.high[hi + shift] < last:
        hi += 1
    return lo, hi


@kernel
def count_range(p: Postings, first: int, last: int, start: Any) -> None:
    """Where each term's postings of windows first .. last - 1 begin once they lie side by side; `start[0]` is 0."""
    for s in range(len(p.start)):
        lo, hi = _span(p, s, first, last)
        start[s + 1] = start[s] + hi - lo


@kernel
def unpack_range(
    p: Postings, first: int, last: int, norm: Any, spec: Any, start: Any, docs: Any, impacts: Any
) -> None:  # fmt: skip
    """Those postings: documents, counted from the first window's first, and what each is worth before its weight."""
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    loc, high, bounds, code, table, tf = p.loc, p.high, p.bounds, p.code, p.table, p.tf
    base = first << LOG_WINDOW
    for s in range(len(p.start)):
        lo, hi = _span(p, s, first, last)
        r = p.row[s]
        shift = p.high_start[s] - p.start[s]
        window = first
        for at in range(lo, hi):
            if r >= 0:
                while at - p.start[s] >= bounds[r, window + 1]:
                    window += 1
            else:
                window = int(high[at + shift])
            d = (window << LOG_WINDOW) | int(loc[at])
            docs[start[s] + at - lo] = d - base
            impacts[start[s] + at - lo] = impact(stored(code, table, tf, at), norm[d], family, a, b, c, phi)


@kernel
def cut_lists(start: Any, docs: Any, lists: Any, block_docs: int, cuts: Any) -> None:
    """How many postings of each of these lists lie before each block of documents; the last column has all of them."""
    for r in range(len(lists)):
        lo, hi = start[lists[r]], start[lists[r] + 1]
        at = lo
        for block in range(cuts.shape[1]):
            while at < hi and docs[at] < block * block_docs:
                at += 1
            cuts[r, block] = at - lo
