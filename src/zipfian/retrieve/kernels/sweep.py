"""One pass over all windows that keeps every document whose bound could make it a hit.

Sums here are 16-bit integers built from the 8-bit impacts: each is an upper bound of the document's score in integer
steps, off by a known slack (`query.topk` has the proof). `floor` is a sum at or below which no document can be a hit.
It rises with the k-th best sum seen, and may run ahead of it by a guess that the caller checks afterwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.chunks import U8, add_peaks, add_row, any_set, open_chunks
from zipfian.retrieve.kernels.heaps import raise_root
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.prefetch import prefetch2
from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_WINDOW, SAMPLE, WINDOW

_NEVER = 1 << 62
"""Above every sum."""


@kernel
def compact(cand_doc: Any, cand_sum: Any, n: int, floor: int) -> int:
    """Drop the candidates that the floor has overtaken; returns how many are left."""
    z = 0
    for i in range(n):
        if cand_sum[i] > floor:
            cand_sum[z] = cand_sum[i]
            cand_doc[z] = cand_doc[i]
            z += 1
    return z


@inlined
def _keep(
    doc: int, total: int, k: int, slack: int, floor: int, found: int, heap: Any, cand_doc: Any, cand_sum: Any
) -> Any:
    """Add a candidate -> (found, floor); found is -1 when there are too many near the floor.

    Dropping overtaken candidates must free an eighth of the room, or else doing it again and again would take longer
    than the plain path.
    """
    cap = len(cand_doc)
    if found == cap:
        found = compact(cand_doc, cand_sum, found, floor)
        if found > cap - (cap >> 3):
            found = -1
    if found >= 0:
        cand_doc[found] = doc
        cand_sum[found] = total
        found += 1
        if total > heap[0]:
            raise_root(heap, k, total)
            floor = max(floor, heap[0] - slack)
    return found, floor


@kernel
def _split(p: Postings, slots: Any, mult: Any) -> Any:
    """Query places -> (those without a dense row, those with one, strongest first)."""
    m = len(slots)
    sparse = np.empty(m, np.int64)
    dense = np.empty(m, np.int64)
    ns = 0
    nd = 0
    for j in range(m):
        if p.dense[slots[j]] < 0:
            sparse[ns] = j
            ns += 1
            continue
        y = nd
        while y > 0 and mult[dense[y - 1]] < mult[j]:  # strongest first: the weak rows then rarely need to be read
            dense[y] = dense[y - 1]
            y -= 1
        dense[y] = j
        nd += 1
    return sparse[:ns], dense[:nd]


@kernel
def _add_lists(p: Postings, slots: Any, mult: Any, sparse: Any, w: int, span: Any, acc: Any) -> int:
    """Add the sparse terms' postings of window w; returns how many. `span` gets where they lie (from, to)."""
    touched = 0
    for i in range(len(sparse)):
        j = sparse[i]
        s = slots[j]
        r = p.row[s]
        if r >= 0:
            lo = p.bounds[r, w]
            hi = p.bounds[r, w + 1]
        else:
            lo = span[1, j]
            end = p.stop[s]
            shift = p.high_start[s] - p.start[s]
            while lo < end and p.high[lo + shift] < w:
                lo += 1
            hi = lo
            while hi < end and p.high[hi + shift] == w:
                hi += 1
        span[0, j] = lo
        span[1, j] = hi
        touched += hi - lo
        x = np.uint32(mult[j])
        for at in range(lo, hi):
            d = p.loc[at]
            acc[d] = np.uint16(acc[d] + np.uint16((np.uint32(p.q[at]) * x) >> U8))
    return touched


@kernel
def _walk(
    p: Postings, base: int, slots: Any, mult: Any, sparse: Any, dense: Any, rest: int, span: Any, mask: Any,
    k: int, slack: int, floor: int, found: int, acc: Any, heap: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """Few documents touched, and no other can pass the floor: visit those through the postings. Leaves acc zeroed."""
    filtered = len(mask) > 0
    for i in range(len(sparse)):
        j = sparse[i]
        for at in range(span[0, j], span[1, j]):
            d = int(p.loc[at])
            v = int(acc[d])
            acc[d] = 0
            if v == 0 or v + rest <= floor or found < 0 or (filtered and not mask[base + d]):
                continue
            for y in range(len(dense)):
                z = dense[y]
                v += (int(p.rows[p.dense[slots[z]], base + d]) * int(mult[z])) >> 8
            if v > floor:
                found, floor = _keep(base + d, v, k, slack, floor, found, heap, cand_doc, cand_sum)
    return found, floor


@kernel
def _scan(
    p: Postings, base: int, slots: Any, mult: Any, dense: Any, mask: Any, peaks: Any, flags: Any, chunks: Any,
    k: int, slack: int, floor: int, found: int, acc: Any, heap: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """Look at a window chunk by chunk; dense rows are read only where they could lift a sum above the floor."""
    rows = p.rows
    peak = p.peak
    nd = len(dense)
    filtered = len(mask) > 0
    if nd > 0:
        first = base >> LOG_CHUNK
        peaks[:] = 0
        for i in range(nd):
            j = dense[i]
            add_peaks(peaks, peak[p.dense[slots[j]], first : first + WINDOW // CHUNK], np.uint32(mult[j]))
    opened = open_chunks(acc, peaks, floor, flags, chunks)
    for o in range(opened if nd > 0 else 0):
        for i in range(min(nd, 2)):
            prefetch2(rows, p.dense[slots[dense[i]]], base + chunks[o])
    for o in range(opened):
        c = chunks[o]
        if filtered and any_set(mask[base + c : base + c + CHUNK]) == 0:
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
            x = np.uint32(mult[j])
            hit = add_row(acc, np.uint64(c), rows, np.uint64(r), np.uint64(base + c), x, need)
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
                found, floor = _keep(base + c + d, v, k, slack, floor, found, heap, cand_doc, cand_sum)
                if found < 0:
                    return found, floor
    return found, floor


@kernel
def _extrapolate(heap: Any, k: int, slack: int) -> int:
    """A floor for all documents from the k best of a sample of 1 / SAMPLE of the windows; 0: none.

    The k-th best of all is about the (k / SAMPLE)-th best of the sample; three deviations are added for safety.
    """
    share = k / SAMPLE
    r = int(math.ceil(share + 3.0 * math.sqrt(share) + 1.0))
    if heap[0] == 0 or r >= k:
        return 0
    rest = heap.copy()
    for _ in range(k - r):
        raise_root(rest, k, _NEVER)
    return max(0, rest[0] - slack)


@kernel
def collect(
    p: Postings, n_windows: int, slots: Any, mult: Any, k: int, slack: int, floor: int, guess: bool, mask: Any,
    acc: Any, heap: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """One sweep -> (candidates, floor, guessed). A negative count: too many candidates.

    Every allowed document whose sum is above the final `floor` is among the candidates. With `guess` the floor may be
    higher than heap[0] - slack, the proved one (then `guessed` is set): the caller must check.
    """
    m = len(slots)
    sparse, dense = _split(p, slots, mult)
    rest = np.int64(0)  # the most that the dense terms can add
    for i in range(len(dense)):
        rest += (255 * int(mult[dense[i]])) >> 8
    span = np.empty((2, m), np.int64)
    peaks = np.zeros(WINDOW // CHUNK, np.uint16)
    flags = np.zeros(WINDOW // CHUNK, np.uint16)
    chunks = np.zeros(WINDOW // CHUNK + 1, np.int64)
    heap[:] = 0
    found = np.int64(0)  # a plain 0 would be a type of its own and compile every callee twice
    guessed = False
    sampled = guess and n_windows >= 2 * SAMPLE
    for phase in range(0 if sampled else 1, 2):
        for j in range(m):
            span[1, j] = p.start[slots[j]]
        for w in range(n_windows):
            if sampled and (w % SAMPLE == SAMPLE // 2) != (phase == 0):
                continue
            touched = _add_lists(p, slots, mult, sparse, w, span, acc)
            only_lists = len(dense) == 0 or rest <= floor
            if touched == 0 and only_lists:
                continue
            base = w << LOG_WINDOW
            if touched * 16 < WINDOW and only_lists:
                found, floor = _walk(
                    p, base, slots, mult, sparse, dense, rest, span, mask,
                    k, slack, floor, found, acc, heap, cand_doc, cand_sum,
                )  # fmt: skip
            else:
                found, floor = _scan(
                    p, base, slots, mult, dense, mask, peaks, flags, chunks,
                    k, slack, floor, found, acc, heap, cand_doc, cand_sum,
                )  # fmt: skip
                acc[:] = 0
            if found < 0:
                return found, floor, guessed
        if phase == 0:
            ahead = _extrapolate(heap, k, slack)
            if ahead > floor:
                floor = ahead
                guessed = True
    return compact(cand_doc, cand_sum, found, floor), floor, guessed
