"""What is done with one window of documents: add lists, then keep every document whose sum could make it a hit.

Sums here are 16-bit integers built from the 8-bit impacts: each is an upper bound of the document's score in integer
steps, off by a known slack (`query.scale_query` has the proof). At or below `floor` no document can be a hit; it rises
with the k-th best sum seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.chunks import U8, add_peaks, add_row, add_whole_row, any_set, keep_allowed, open_chunks
from zipfian.retrieve.kernels.counts import ABOVE, AT, raise_step
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.prefetch import prefetch2
from zipfian.retrieve.layout import CHUNK, LOG_CHUNK, LOG_STEP, WINDOW


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
    doc: int, total: int, k: int, slack: int, floor: int, found: int, seen: Any, cand_doc: Any, cand_sum: Any
) -> Any:
    """Add a candidate -> (found, floor); found is -1 when there are too many near the floor.

    `seen` counts the sums met so far (see `counts`); the k-th best of them moves the floor. Dropping overtaken
    candidates must free an eighth of the room: doing it again and again would take longer than the plain path.
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
        step = total >> LOG_STEP
        seen[step] += 1
        if step >= seen[AT]:
            seen[ABOVE] += 1
            if seen[ABOVE] - seen[seen[AT]] >= k:
                floor = max(floor, raise_step(seen, k) - slack)
    return found, floor


@kernel
def add_lists(p: Postings, slots: Any, mult: Any, sparse: Any, w: int, span: Any, acc: Any) -> int:
    """Add the sparse terms' postings of window w; returns how many. `span` gets where they lie (from, to)."""
    touched = 0
    for i in range(len(sparse)):
        j = sparse[i]
        s = slots[j]
        r = p.row[s]
        if r >= 0:
            lo = p.start[s] + p.bounds[r, w]
            hi = p.start[s] + p.bounds[r, w + 1]
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
        for at in range(np.uint64(lo), np.uint64(hi)):  # unsigned: no test for indices counted from the end (-35 %)
            d = np.uint64(p.loc[at])
            acc[d] = np.uint16(acc[d] + np.uint16((np.uint32(p.q[at]) * x) >> U8))
    return touched


@kernel
def walk(
    p: Postings, base: int, slots: Any, mult: Any, sparse: Any, dense: Any, rest: int, span: Any, mask: Any,
    k: int, slack: int, floor: int, found: int, acc: Any, seen: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """Few documents touched, and no other can pass the floor: visit those through the postings. Leaves acc zeroed."""
    filtered = len(mask) > 0
    for i in range(len(sparse)):
        j = sparse[i]
        for at in range(np.uint64(span[0, j]), np.uint64(span[1, j])):
            d = int(p.loc[at])
            v = int(acc[d])
            acc[d] = 0
            if v == 0 or v + rest <= floor or found < 0 or (filtered and not mask[base + d]):
                continue
            for y in range(len(dense)):
                z = dense[y]
                v += (int(p.rows[p.dense[slots[z]], base + d]) * int(mult[z])) >> 8
            if v > floor:
                found, floor = _keep(base + d, v, k, slack, floor, found, seen, cand_doc, cand_sum)
    return found, floor


@kernel
def sum_up(p: Postings, base: int, slots: Any, mult: Any, dense: Any, mask: Any, acc: Any) -> None:
    """Add all dense rows to a whole window of sums, and zero those of documents that are not allowed."""
    for i in range(len(dense)):
        j = dense[i]
        add_whole_row(acc, p.rows[p.dense[slots[j]], base : base + WINDOW], np.uint32(mult[j]))
    if len(mask) > 0:
        keep_allowed(acc, mask[base : base + WINDOW])


@kernel
def scan(
    p: Postings, base: int, size: int, slots: Any, mult: Any, dense: Any, mask: Any, peaks: Any, flags: Any,
    chunks: Any, k: int, slack: int, floor: int, found: int, acc: Any, seen: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """Look at a window chunk by chunk; dense rows are read only where they could lift a sum above the floor.

    `size` is the window's number of documents, in whole chunks. Leaves acc zeroed.
    """
    rows = p.rows
    peak = p.peak
    nd = len(dense)
    filtered = len(mask) > 0
    first = base >> LOG_CHUNK
    peaks[:] = 0
    for i in range(nd):
        j = dense[i]
        add_peaks(peaks, peak[p.dense[slots[j]], first : first + WINDOW // CHUNK], np.uint32(mult[j]))
    opened = open_chunks(acc, size >> LOG_CHUNK, peaks, floor, flags, chunks)
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
                found, floor = _keep(base + c + d, v, k, slack, floor, found, seen, cand_doc, cand_sum)
                if found < 0:
                    acc[:size] = 0
                    return found, floor
    acc[:size] = 0
    return found, floor
