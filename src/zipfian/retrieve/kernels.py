"""The numba kernels behind every search: exact top-k over posting lists, one core, no GIL.

How a query is answered, and why it is fast *and* exact:

1. Documents are scored in windows of 2**LOG_WINDOW, so that the accumulators stay in the first-level cache.
2. Each posting carries its impact rounded *up* to 8 bits (relative to the largest impact of its term). The query
   maps these onto 16-bit integers; a document's sum is then an upper bound of its score, off by a known slack.
3. Frequent terms are also kept as one byte per document ("dense rows"). Adding such a row is a vector instruction per
   64 documents, and it is only done for the chunks of 64 whose sum so far could still reach the k-th best.
4. Every document whose bound reaches the proved k-th best is scored again in float64 from its stored term
   frequencies, terms in query order. What is returned, scores and order, is decided by these numbers alone.

Nothing here uses fastmath or reorders a float sum: equal input gives equal bits, whatever the segments look like.
`exact_topk` is the plain path, float64 from the start; it serves other scoring settings than the cached ones,
queries with very many ties, and tests as an independent witness.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_WINDOW, WINDOW
from zipfian.retrieve.prefetch import prefetch, prefetch2

JIT: dict[str, Any] = {"nogil": True, "cache": True}

_U8 = np.uint32(8)
_MASK = WINDOW - 1

# Scoring families (`scoring.KernelSpec.family`).
SATURATE, BM25L, LINEAR, LOGTF = 0, 1, 2, 3


class Postings(NamedTuple):
    """Posting lists as the kernels read them; see `arena.py` for who fills it.

    A term's slot s owns positions start[s] .. stop[s] of `loc`, `q` and `tf`, documents ascending.
    """

    start: Any  # int64[slots]
    stop: Any  # int64[slots]
    loc: Any  # uint16[postings]: document number within its window
    q: Any  # uint8[postings]: impact / top impact of the slot * 255, rounded up
    tf: Any  # float32 or float64 [postings]: stored term weight
    top: Any  # float64[slots]: largest impact of the slot
    row: Any  # int32[slots]: row of `bounds`, or -1 for a short list
    bounds: Any  # int64[rows, windows + 1]: where each window starts
    high: Any  # uint16[short postings]: window of each posting of a short list
    high_start: Any  # int64[slots]: start of the slot in `high`
    dense: Any  # int32[slots]: row of `rows`, or -1
    rows: Any  # uint8[dense rows, windows * WINDOW]: q by document, 0 where absent
    peak: Any  # uint8[dense rows, windows * WINDOW / CHUNK]: largest q of each chunk
    rank: Any  # int32[dense rows, windows * WINDOW / CHUNK]: postings of the slot before each chunk


class Forward(NamedTuple):
    """The same postings by document, or empty arrays where only lists are kept."""

    indptr: Any  # int64[documents + 1]
    terms: Any  # int32[postings]: slots, ascending within a document
    tf: Any  # float32 or float64 [postings]


@nb.njit(inline="always", **JIT)
def impact(tf: float, norm: float, family: int, a: float, b: float, c: float, phi: float) -> float:
    """One term's contribution before idf and query weight; a, b, c are the family's constants."""
    x = float(tf)
    if phi == 0.5:
        x = math.sqrt(x)
    elif phi != 1.0:
        x = x**phi
    if family == 0:  # SATURATE: a * x / (x + norm) + b
        return a * x / (x + norm) + b
    if family == 1:  # BM25L: c is k1, b is delta
        y = x / norm + b
        return a * y / (c + y)
    if family == 2:  # LINEAR
        return x
    y = 1.0 + math.log(x)
    return y / norm if y > 0.0 and norm > 0.0 else 0.0


@nb.njit(**JIT)
def fill_long(
    docs: Any, tf: Any, norm: Any, spec: Any, loc: Any, q: Any, bounds_row: Any, offset: int, dense_row: Any,
    peak_row: Any, rank_row: Any,
) -> float:
    """Quantise one list into its slot; returns the largest impact. Empty arrays switch off bounds / dense row."""
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    n = len(docs)
    top = 0.0
    for i in range(n):
        v = impact(tf[i], norm[docs[i]], family, a, b, c, phi)
        if v > top:
            top = v
    scale = 255.0 / top if top > 0.0 else 0.0
    fill_dense = len(dense_row) > 0
    for i in range(n):
        d = docs[i]
        v = math.ceil(impact(tf[i], norm[d], family, a, b, c, phi) * scale * (1.0 - 1e-12))
        x = np.uint8(min(255.0, max(1.0, v)))
        loc[i] = np.uint16(d & _MASK)
        q[i] = x
        if fill_dense:
            dense_row[d] = x
            peak_row[d >> LOG_CHUNK] = max(peak_row[d >> LOG_CHUNK], x)
    if len(bounds_row) > 0:
        p = 0
        for w in range(len(bounds_row) - 1):
            while p < n and docs[p] < (w << LOG_WINDOW):
                p += 1
            bounds_row[w] = offset + p
        bounds_row[len(bounds_row) - 1] = offset + n
    if fill_dense:
        p = 0
        for x in range(len(rank_row)):
            while p < n and docs[p] < x * CHUNK:
                p += 1
            rank_row[x] = p
    return top


@nb.njit(**JIT)
def invert(indptr: Any, indices: Any, weights: Any, n_terms: int) -> Any:
    """CSR by document -> (term starts, documents, weights) by term, documents ascending."""
    start = np.zeros(n_terms + 1, np.int64)
    for t in indices:
        start[t + 1] += 1
    for t in range(n_terms):
        start[t + 1] += start[t]
    at = start[:-1].copy()
    docs = np.empty(len(indices), np.int32)
    tf = np.empty(len(indices), weights.dtype)
    for d in range(len(indptr) - 1):
        for j in range(indptr[d], indptr[d + 1]):
            t = indices[j]
            p = at[t]
            at[t] = p + 1
            docs[p] = d
            tf[p] = weights[j]
    return start, docs, tf


@nb.njit(**JIT)
def fill_all(docs: Any, norm: Any, spec: Any, n_windows: int, p: Postings) -> None:
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


@nb.njit(inline="always", **JIT)
def _raise_root(heap: Any, n: int, value: int) -> None:
    """Replace the smallest of a min-heap."""
    i = 0
    while True:
        c = 2 * i + 1
        if c >= n:
            break
        if c + 1 < n and heap[c + 1] < heap[c]:
            c += 1
        if heap[c] >= value:
            break
        heap[i] = heap[c]
        i = c
    heap[i] = value


@nb.njit(**JIT)
def _compact(cand_doc: Any, cand_sum: Any, n: int, floor: int) -> int:
    z = 0
    for i in range(n):
        if cand_sum[i] > floor:
            cand_sum[z] = cand_sum[i]
            cand_doc[z] = cand_doc[i]
            z += 1
    return z


# The three loops below are functions of their own because LLVM vectorises them in this shape, and not when they are
# written out inside `_collect` (measured: 2 against 9 ns per chunk for the first, 5 against 13 for the last).


@nb.njit(**JIT)
def _open_chunks(acc: Any, peaks: Any, floor: int, flags: Any, chunks: Any) -> int:
    """List the chunks of a window where some sum could pass the floor with what the dense rows may add."""
    n = WINDOW // CHUNK
    for c in range(n):
        part = acc[c * CHUNK : c * CHUNK + CHUNK]
        need = np.uint16(floor - min(floor, int(peaks[c])))
        hit = np.uint16(0)
        for d in range(CHUNK):
            hit = np.uint16(hit | np.uint16(part[d] > need))
        flags[c] = hit
    opened = 0
    for c in range(n):
        chunks[opened] = c * CHUNK
        opened += int((flags[c] > 0) | (int(peaks[c]) > floor))
    return opened


@nb.njit(**JIT)
def _add_peaks(peaks: Any, high: Any, x: Any) -> None:
    for c in range(WINDOW // CHUNK):
        peaks[c] = np.uint16(peaks[c] + np.uint16((np.uint32(high[c]) * x) >> _U8))


@nb.njit(**JIT)
def _add_row(acc: Any, c: Any, rows: Any, r: Any, at: Any, x: Any, need: Any) -> Any:
    """Add one dense row to the chunk of sums at c; non-zero if a sum is now above `need`."""
    hit = np.uint16(0)
    for i in range(CHUNK):
        d = np.uint64(i)
        v = np.uint16(acc[c + d] + np.uint16((np.uint32(rows[r, at + d]) * x) >> _U8))
        acc[c + d] = v
        hit = np.uint16(hit | np.uint16(v > need))
    return hit


@nb.njit(**JIT)
def _any(mask: Any) -> Any:
    ok = np.uint8(0)
    for d in range(CHUNK):
        ok = np.uint8(ok | mask[d])
    return ok


@nb.njit(**JIT)
def _collect(
    p: Postings, n_windows: int, slots: Any, mult: Any, k: int, slack: int, floor: int, guess: bool,
    mask: Any, acc: Any, heap: Any, cand_doc: Any, cand_sum: Any, work: Any,
) -> Any:
    """One sweep over all windows -> (candidates, floor, guessed). A negative count: too many candidates.

    Every document whose integer sum is above the final `floor` is among the candidates. With `guess`, the floor may
    run ahead of what is proved (an extrapolation from a sample of the windows); the caller checks it afterwards.
    """
    m = len(slots)
    rows = p.rows
    peak = p.peak
    cur = np.empty(m, np.int64)
    sparse = np.empty(m, np.int64)
    dense = np.empty(m, np.int64)
    ns = 0
    nd = 0
    rest = 0  # what the dense terms can still add
    for j in range(m):
        s = slots[j]
        if p.dense[s] >= 0:
            dense[nd] = j
            nd += 1
            rest += (255 * int(mult[j])) >> 8
        else:
            sparse[ns] = j
            ns += 1
    for i in range(1, nd):  # strongest first: the weak rows then rarely need to be read
        j = dense[i]
        y = i
        while y > 0 and mult[dense[y - 1]] < mult[j]:
            dense[y] = dense[y - 1]
            y -= 1
        dense[y] = j
    peaks = np.zeros(WINDOW // CHUNK, np.uint16)
    flags = np.zeros(WINDOW // CHUNK, np.uint16)
    chunks = np.zeros(WINDOW // CHUNK + 1, np.int64)
    filtered = len(mask) > 0
    heap[:] = 0
    found = 0
    cap = len(cand_doc)
    guessed = 0
    sample = 8 if guess and n_windows >= 16 else 1
    for phase in range(2):
        if sample == 1 and phase == 0:
            continue
        for i in range(ns):
            j = sparse[i]
            s = slots[j]
            cur[j] = p.start[s]
        done = 0
        for w in range(n_windows):
            if sample > 1 and (w % sample == sample // 2) != (phase == 0):
                continue
            # 1. sparse terms
            touched = 0
            for i in range(ns):
                j = sparse[i]
                s = slots[j]
                x = np.uint32(mult[j])
                r = p.row[s]
                if r >= 0:
                    lo = p.bounds[r, w]
                    hi = p.bounds[r, w + 1]
                else:
                    lo = cur[j]
                    e = p.stop[s]
                    shift = p.high_start[s] - p.start[s]
                    while lo < e and p.high[lo + shift] < w:
                        lo += 1
                    hi = lo
                    while hi < e and p.high[hi + shift] == w:
                        hi += 1
                    cur[j] = hi
                work[0, j] = lo
                work[1, j] = hi
                touched += hi - lo
                for at in range(lo, hi):
                    d = p.loc[at]
                    acc[d] = np.uint16(acc[d] + np.uint16((np.uint32(p.q[at]) * x) >> _U8))
            base = w << LOG_WINDOW
            if touched == 0 and (nd == 0 or rest <= floor):
                continue
            if touched * 16 < WINDOW and (nd == 0 or rest <= floor):
                # 2a. few documents touched: walk the postings again instead of the window
                for i in range(ns):
                    j = sparse[i]
                    for at in range(work[0, j], work[1, j]):
                        d = int(p.loc[at])
                        v = int(acc[d])
                        if v == 0:
                            continue
                        acc[d] = 0
                        if v + rest <= floor or (filtered and not mask[base + d]):
                            continue
                        for y in range(nd):
                            jj = dense[y]
                            v += (int(p.rows[p.dense[slots[jj]], base + d]) * int(mult[jj])) >> 8
                        if v <= floor:
                            continue
                        if found == cap:
                            found = _compact(cand_doc, cand_sum, found, floor)
                            if found == cap:
                                acc[:] = 0
                                return -1, floor, guessed
                        cand_doc[found] = base + d
                        cand_sum[found] = v
                        found += 1
                        if v > heap[0]:
                            _raise_root(heap, k, v)
                            if heap[0] - slack > floor:
                                floor = heap[0] - slack
                continue
            # 2b. scan the window chunk by chunk; `peaks` is what the dense rows can add in each
            if nd > 0:
                first = base >> LOG_CHUNK
                peaks[:] = 0
                for i in range(nd):
                    j = dense[i]
                    _add_peaks(peaks, p.peak[p.dense[slots[j]], first : first + WINDOW // CHUNK], np.uint32(mult[j]))
            opened = _open_chunks(acc, peaks, floor, flags, chunks)
            if nd > 0:
                for o in range(opened):
                    for i in range(min(nd, 2)):
                        prefetch2(rows, p.dense[slots[dense[i]]], base + chunks[o])
            for o in range(opened):
                c = chunks[o]
                if filtered and _any(mask[base + c : base + c + CHUNK]) == 0:
                    continue
                left = int(peaks[c >> LOG_CHUNK])
                reachable = True
                for i in range(nd):
                    j = dense[i]
                    r = p.dense[slots[j]]
                    high = int(peak[r, (base + c) >> LOG_CHUNK])
                    if high == 0:
                        continue
                    left -= (high * int(mult[j])) >> 8
                    need = np.uint16(floor - min(floor, left))
                    hit = _add_row(
                        acc, np.uint64(c), rows, np.uint64(r), np.uint64(base + c), np.uint32(mult[j]), need
                    )
                    if hit == 0 and left <= floor:
                        reachable = False
                        break
                    if i + 2 < nd:
                        prefetch2(rows, p.dense[slots[dense[i + 2]]], base + c)
                if not reachable:
                    continue
                for d in range(CHUNK):
                    v = int(acc[c + d])
                    if v > floor and (not filtered or mask[base + c + d]):
                        if found == cap:
                            found = _compact(cand_doc, cand_sum, found, floor)
                            if found == cap:
                                acc[:] = 0
                                return -1, floor, guessed
                        cand_doc[found] = base + c + d
                        cand_sum[found] = v
                        found += 1
                        if v > heap[0]:
                            _raise_root(heap, k, v)
                            if heap[0] - slack > floor:
                                floor = heap[0] - slack
            acc[:] = 0
            done += 1
        if phase == 0 and heap[0] > 0:
            # the k-th best of all documents is about the r-th best of the sample; r with a margin of three deviations
            share = 1.0 / sample
            r = int(math.ceil(k * share + 3.0 * math.sqrt(k * share) + 1.0))
            if r < k:
                order = np.sort(heap)
                g = int(order[k - r]) - slack
                if g > floor:
                    floor = g
                    guessed = 1
    return _compact(cand_doc, cand_sum, found, floor), floor, guessed


@nb.njit(inline="always", **JIT)
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


@nb.njit(**JIT)
def score_docs(p: Postings, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any) -> Any:
    """Exact scores of given documents: float64, each summed over the terms in query order.

    Term by term, so that with ascending documents the look-ups walk each list once, forwards.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    n = len(docs)
    out = np.zeros(n, np.float64)
    for j in range(len(slots)):
        s = slots[j]
        r = p.row[s]
        w8 = weight[j]
        dense = p.dense[s]
        if dense >= 0:
            for i in range(n):
                d = docs[i]
                if p.rows[dense, d] == 0:
                    continue
                x = d & (CHUNK - 1)
                part = p.rows[dense, d - x : d - x + CHUNK]
                before = np.uint8(0)
                for y in range(CHUNK):
                    before = np.uint8(before + np.uint8((part[y] > 0) & (y < x)))
                at = p.start[s] + p.rank[dense, d >> LOG_CHUNK] + int(before)
                out[i] += w8 * impact(p.tf[at], norm[d], family, a, b, c, phi)
            continue
        if r >= 0:
            for i in range(n):
                d = docs[i]
                w = d >> LOG_WINDOW
                x = d & _MASK
                end = p.bounds[r, w + 1]
                at = _find_long(p.loc, p.bounds[r, w], end, x)
                if at < end and int(p.loc[at]) == x:
                    out[i] += w8 * impact(p.tf[at], norm[d], family, a, b, c, phi)
            continue
        end = p.stop[s]
        shift = p.high_start[s] - p.start[s]
        for i in range(n):
            d = docs[i]
            lo = p.start[s]
            hi = end
            while lo < hi:
                mid = (lo + hi) >> 1
                if ((int(p.high[mid + shift]) << LOG_WINDOW) | int(p.loc[mid])) < d:
                    lo = mid + 1
                else:
                    hi = mid
            if lo < end and ((int(p.high[lo + shift]) << LOG_WINDOW) | int(p.loc[lo])) == d:
                out[i] += w8 * impact(p.tf[lo], norm[d], family, a, b, c, phi)
    return out


@nb.njit(**JIT)
def score_rows(fwd: Forward, norm: Any, spec: Any, slots: Any, weight: Any, docs: Any, place: Any) -> Any:
    """`score_docs` through the documents' own rows: one short sequential read each instead of a search per term.

    `place` (int16 per term, all 0) maps terms to query places while this runs. Slots must ascend: then a row's order is
    the query's order and the sum has the same bits.
    """
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    for j in range(len(slots)):
        place[slots[j]] = j + 1
    out = np.zeros(len(docs), np.float64)
    for i in range(len(docs)):
        prefetch(fwd.indptr, docs[i])
        prefetch(norm, docs[i])
    ahead = 8
    for i in range(len(docs) + ahead):
        if i < len(docs):
            lo, hi = fwd.indptr[docs[i]], fwd.indptr[docs[i] + 1]
            for at in range(lo, hi, 16):
                prefetch(fwd.terms, at)
                prefetch(fwd.tf, at)
        if i < ahead:
            continue
        d = docs[i - ahead]
        total = 0.0
        for at in range(fwd.indptr[d], fwd.indptr[d + 1]):
            j = place[fwd.terms[at]]
            if j > 0:
                total += weight[j - 1] * impact(fwd.tf[at], norm[d], family, a, b, c, phi)
        out[i - ahead] = total
    for j in range(len(slots)):
        place[slots[j]] = 0
    return out


@nb.njit(inline="always", **JIT)
def _worse(score_a: float, doc_a: int, score_b: float, doc_b: int) -> bool:
    """Whether hit a ranks behind hit b: lower score, or the same and later in document order."""
    return score_a < score_b or (score_a == score_b and doc_a > doc_b)


@nb.njit(**JIT)
def _offer(scores: Any, docs: Any, n: int, k: int, score: float, doc: int) -> int:
    """Put a hit into a heap whose root is the worst kept; returns the new size."""
    if n < k:
        i = n
        while i > 0:
            up = (i - 1) >> 1
            if not _worse(score, doc, scores[up], docs[up]):
                break
            scores[i] = scores[up]
            docs[i] = docs[up]
            i = up
        scores[i] = score
        docs[i] = doc
        return n + 1
    if not _worse(scores[0], docs[0], score, doc):
        return n
    i = 0
    while True:
        c = 2 * i + 1
        if c >= n:
            break
        if c + 1 < n and _worse(scores[c + 1], docs[c + 1], scores[c], docs[c]):
            c += 1
        if not _worse(scores[c], docs[c], score, doc):
            break
        scores[i] = scores[c]
        docs[i] = docs[c]
        i = c
    scores[i] = score
    docs[i] = doc
    return n


@nb.njit(**JIT)
def _drain(scores: Any, docs: Any, n: int, out_docs: Any, out_scores: Any) -> None:
    """Empty the heap into the output, best first."""
    while n > 0:
        n -= 1
        out_docs[n] = docs[0]
        out_scores[n] = scores[0]
        s, d = scores[n], docs[n]
        i = 0
        while True:
            c = 2 * i + 1
            if c >= n:
                break
            if c + 1 < n and _worse(scores[c + 1], docs[c + 1], scores[c], docs[c]):
                c += 1
            if not _worse(scores[c], docs[c], s, d):
                break
            scores[i] = scores[c]
            docs[i] = docs[c]
            i = c
        scores[i] = s
        docs[i] = d


@nb.njit(**JIT)
def exact_topk(
    p: Postings, n_windows: int, norm: Any, spec: Any, slots: Any, weight: Any, k: int, mask: Any,
    out_docs: Any, out_scores: Any,
) -> int:
    """Top-k by float64 accumulation from stored weights and norms, window by window; returns how many."""
    family, a, b, c, phi = int(spec[0]), spec[1], spec[2], spec[3], spec[4]
    m = len(slots)
    acc = np.zeros(WINDOW, np.float64)
    scores = np.empty(k, np.float64)
    docs = np.empty(k, np.int64)
    cur = np.empty(m, np.int64)
    for j in range(m):
        cur[j] = p.start[slots[j]]
    filtered = len(mask) > 0
    n = 0
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
                e = p.stop[s]
                shift = p.high_start[s] - p.start[s]
                hi = lo
                while hi < e and p.high[hi + shift] == w:
                    hi += 1
                cur[j] = hi
            any_hit |= hi > lo
            for at in range(lo, hi):
                d = p.loc[at]
                acc[d] += weight[j] * impact(p.tf[at], norm[base + int(d)], family, a, b, c, phi)
        if not any_hit:
            continue
        for d in range(WINDOW):
            v = acc[d]
            if v > 0.0:
                acc[d] = 0.0
                if (n < k or v > scores[0]) and (not filtered or mask[base + d]):
                    n = _offer(scores, docs, n, k, v, base + d)
    _drain(scores, docs, n, out_docs, out_scores)
    return n


@nb.njit(**JIT)
def topk(
    p: Postings, fwd: Forward, n_windows: int, norm: Any, spec: Any, slots: Any, weight: Any, k: int, mask: Any,
    acc: Any, place: Any, out_docs: Any, out_scores: Any,
) -> int:
    """Exact top-k through the 8-bit impacts; returns how many. `weight` is idf x query weight, > 0.

    `acc` and `place` are the caller's buffers, zeroed before and after.
    """
    m = len(slots)
    total = 0.0
    for j in range(m):
        total += weight[j] * p.top[slots[j]]
    if m == 0 or not total > 0.0:
        return 0
    if m > 1024 or not total < 1e300:
        return exact_topk(p, n_windows, norm, spec, slots, weight, k, mask, out_docs, out_scores)
    unit = (65535.0 - 260.0 - 2.0 * m) / total  # integer steps per score
    mult = np.empty(m, np.uint16)
    loose = 0.0
    for j in range(m):
        c = weight[j] * p.top[slots[j]] * unit
        loose += c / 255.0 + 1.0
        mult[j] = np.uint16(min(65535.0, math.ceil(c * 256.0 / 255.0)))
    # true * unit lies in [sum - loose, sum + m]: a document below (k-th sum - loose - m) cannot be a hit
    slack = int(loose) + m + 2
    cap = 4096 + 4 * k
    cand_doc = np.empty(cap, np.int64)
    cand_sum = np.empty(cap, np.int64)
    heap = np.zeros(k, np.int64)
    work = np.empty((2, m), np.int64)
    n, floor, guessed = _collect(
        p, n_windows, slots, mult, k, slack, 0, True, mask, acc, heap, cand_doc, cand_sum, work
    )
    if n >= 0 and guessed and heap[0] - slack < floor:
        # the extrapolated floor was too high: sweep again from what is proved
        n, floor, guessed = _collect(
            p, n_windows, slots, mult, k, slack, max(0, heap[0] - slack), False, mask, acc, heap, cand_doc, cand_sum, work
        )
    if n < 0 or heap[0] == 0:
        # too many near-ties, or fewer than k hits with a visible sum: the plain path settles both
        return exact_topk(p, n_windows, norm, spec, slots, weight, k, mask, out_docs, out_scores)
    best = np.sort(cand_doc[:n])
    if len(fwd.indptr) > 0:
        exact = score_rows(fwd, norm, spec, slots, weight, best, place)
    else:
        exact = score_docs(p, norm, spec, slots, weight, best)
    scores = np.empty(k, np.float64)
    docs = np.empty(k, np.int64)
    size = 0
    for i in range(n):
        if exact[i] > 0.0:
            size = _offer(scores, docs, size, k, exact[i], best[i])
    _drain(scores, docs, size, out_docs, out_scores)
    return size


@nb.njit(**JIT)
def weigh(terms: Any, given: Any, n_given: int, idf: Any, n_terms: int, slots: Any, weight: Any) -> int:
    """Query terms -> ascending slots and idf x weight, terms worth nothing left out; how many, or < 0 if unusable.

    -1: a term outside the term space. -2: a weight that is not finite or not above 0. -3: a term twice.
    `given` holds n_given weights (after phi), or none: all 1.
    """
    n = 0
    sorted_so_far = True
    last = np.int64(-1)
    for i in range(len(terms)):
        t = np.int64(terms[i])
        if t < 0 or t >= n_terms:
            return -1
        w = 1.0
        if n_given > 0:
            w = float(given[i])
            if not (w > 0.0 and w <= 1e6):
                return -2
        if t == last:
            return -3
        if t < last:
            sorted_so_far = False
        last = t
        x = w * idf[t]
        if x > 0.0:
            slots[n] = t
            weight[n] = x
            n += 1
    if not sorted_so_far:
        order = np.argsort(slots[:n], kind="mergesort")
        s2 = slots[:n][order]
        w2 = weight[:n][order]
        for i in range(n):
            slots[i] = s2[i]
            weight[i] = w2[i]
            if i > 0 and s2[i] == s2[i - 1]:
                return -3
    return n


@nb.njit(**JIT)
def query(
    p: Postings, fwd: Forward, n_windows: int, norm: Any, spec: Any, idf: Any, terms: Any, given: Any, n_given: int,
    k: int, mask: Any, acc: Any, place: Any, out_docs: Any, out_scores: Any,
) -> int:
    """`weigh`, then `topk`: a whole search in one call, so that Python's share stays at a few microseconds."""
    slots = np.empty(len(terms), np.int64)
    weight = np.empty(len(terms), np.float64)
    m = weigh(terms, given, n_given, idf, len(idf), slots, weight)
    if m <= 0:
        return m
    return topk(
        p, fwd, n_windows, norm, spec, slots[:m], weight[:m], k, mask, acc, place, out_docs, out_scores
    )


@nb.njit(**JIT)
def query_many(
    p: Postings, fwd: Forward, n_windows: int, norm: Any, spec: Any, idf: Any, indptr: Any, terms: Any, given: Any,
    n_given: int, k: int, mask: Any, begin: int, end: int, place: Any, out_docs: Any, out_scores: Any, code: Any,
) -> None:
    """Queries begin .. end of a batch into rows of the output; `code` gets each query's count or error."""
    acc = np.zeros(WINDOW, np.uint16)
    for i in range(begin, end):
        lo, hi = indptr[i], indptr[i + 1]
        some = given[lo:hi] if n_given > 0 else given
        code[i] = query(
            p, fwd, n_windows, norm, spec, idf, terms[lo:hi], some, n_given, k, mask, acc, place,
            out_docs[i], out_scores[i],
        )


@nb.njit(**JIT)
def row_sums(indptr: Any, values: Any) -> Any:
    """Sum of every CSR row, left to right."""
    out = np.zeros(len(indptr) - 1, np.float64)
    for d in range(len(indptr) - 1):
        s = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            s += values[j]
        out[d] = s
    return out
