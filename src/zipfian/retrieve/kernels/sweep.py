"""One pass over all windows that collects every document whose bound could make it a hit.

The floor may run ahead of what is proved, by a guess from a sample of the windows; the caller checks it afterwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.counts import GROUPS, ask_for, kth_group, new_counts, raise_step
from zipfian.retrieve.kernels.jit import inlined, kernel
from zipfian.retrieve.kernels.window import add_lists, compact, scan, sum_up, walk
from zipfian.retrieve.layout import ALWAYS_DENSE, CHUNK, LOG_WINDOW, MIN_SAMPLED, SAMPLE, WINDOW


@inlined
def _most(mult: Any, j: int) -> Any:
    """The most that the term at query place j can add to a sum."""
    return (255 * np.int64(mult[j])) >> 8


@kernel
def _split(p: Postings, n_windows: int, slots: Any, mult: Any, floor: int) -> Any:
    """Query places -> (to be added list by list, to be looked up in dense rows, the most that the latter can add).

    Rows of very frequent terms are always the better way. Those of the next frequent ones are so only while all rows
    together stay far below the floor: then few chunks can become hits by their rows, and most rows go unread.
    """
    m = len(slots)
    by_row = np.zeros(m, np.bool_)
    order = np.empty(m, np.int64)  # terms with a row, strongest first: the weak rows then rarely need to be read
    n = np.int64(0)
    rest = np.int64(0)
    for j in range(m):
        s = slots[j]
        if p.dense[s] < 0:
            continue
        if (p.stop[s] - p.start[s]) * ALWAYS_DENSE > n_windows << LOG_WINDOW:
            by_row[j] = True
            rest += _most(mult, j)
        y = n
        while y > 0 and mult[order[y - 1]] < mult[j]:
            order[y] = order[y - 1]
            y -= 1
        order[y] = j
        n += 1
    for i in range(n - 1, -1, -1):
        j = order[i]
        if not by_row[j] and 2 * (rest + _most(mult, j)) <= floor:
            by_row[j] = True
            rest += _most(mult, j)
    dense = np.empty(n, np.int64)
    nd = np.int64(0)
    for i in range(n):
        if by_row[order[i]]:
            dense[nd] = order[i]
            nd += 1
    return np.flatnonzero(~by_row), dense[:nd], rest


@kernel
def _ranks(k: int, n_windows: int, stride: int) -> int:
    """How many of the k best documents to expect in every stride-th window, with a margin of three deviations."""
    share = (n_windows + stride - 1 - stride // 2) // stride / (n_windows - 1)  # the last window may hold very few
    return int(math.ceil(k * share + 3.0 * math.sqrt(k * share) + 1.0))


@kernel
def collect(
    p: Postings, n_docs: int, slots: Any, mult: Any, k: int, slack: int, floor: int, guess: bool, mask: Any,
    acc: Any, cand_doc: Any, cand_sum: Any,
) -> Any:  # fmt: skip
    """One sweep -> (candidates, floor, k-th best sum). A negative count: too many candidates.

    Every allowed document whose sum is above the final `floor` is among the candidates. With `guess` the floor may be
    higher than what is proved, the k-th best sum less the slack: the caller must check.
    """
    m = len(slots)
    n_windows = (n_docs + WINDOW - 1) >> LOG_WINDOW
    span = np.empty((2, m), np.int64)
    peaks = np.zeros(WINDOW // CHUNK, np.uint16)
    flags = np.zeros(WINDOW // CHUNK, np.uint16)
    chunks = np.zeros(WINDOW // CHUNK + 1, np.int64)
    seen = new_counts()
    tries = 0
    found = np.int64(0)  # a plain 0 would be a type of its own and compile every callee twice
    stride = min(SAMPLE, n_windows)
    ranks = _ranks(k, n_windows, stride) if guess and n_windows >= MIN_SAMPLED else k
    for phase in range(0 if ranks < k else 1, 2):
        # Phase 0: every stride-th window. What their r-th best reaches, the k-th best of all probably reaches too.
        wanted = ranks if phase == 0 else k
        sparse, dense, rest = _split(p, n_windows, slots, mult, floor)
        for j in range(m):
            span[1, j] = p.start[slots[j]]
        for w in range(n_windows):
            if ranks < k and (w % stride == stride // 2) != (phase == 0):
                continue
            touched = add_lists(p, slots, mult, sparse, w, span, acc)
            only_lists = len(dense) == 0 or rest <= floor
            if touched == 0 and only_lists:
                continue
            base = w << LOG_WINDOW
            size = min(WINDOW, (n_docs - base + CHUNK - 1) & ~(CHUNK - 1))
            few = touched * 16 < WINDOW and only_lists
            if floor == 0 and not few and tries < 2 and wanted * 2 <= GROUPS:
                # Without a floor every row is read anyway: do it at once, and the sums of this window give a floor.
                tries += 1
                sum_up(p, base, slots, mult, dense, mask, acc)
                floor = max(floor, kth_group(acc, wanted) - slack)
                found, floor = scan(
                    p, base, size, slots, mult, dense[:0], mask, peaks, flags, chunks,
                    wanted, slack, floor, found, acc, seen, cand_doc, cand_sum,
                )  # fmt: skip
            elif few:
                found, floor = walk(
                    p, base, slots, mult, sparse, dense, rest, span, mask,
                    wanted, slack, floor, found, acc, seen, cand_doc, cand_sum,
                )  # fmt: skip
            else:
                found, floor = scan(
                    p, base, size, slots, mult, dense, mask, peaks, flags, chunks,
                    wanted, slack, floor, found, acc, seen, cand_doc, cand_sum,
                )  # fmt: skip
            if found < 0:
                return found, floor, np.int64(0)
        if phase == 0:
            floor = max(floor, ask_for(seen, k) - slack)
    return compact(cand_doc, cand_sum, found, floor), floor, raise_step(seen, k)
