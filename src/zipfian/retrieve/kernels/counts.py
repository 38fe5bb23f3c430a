"""The k-th best of the sums met so far, to within a step of 16: a count per step instead of a heap.

Adding a sum is one increment; moving on to the next step costs a little once in a while. With k = 200 this takes a
fraction of a heap's time. The k-th best is rounded down to a step, so it stays a lower bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.layout import LOG_STEP, WINDOW

STEPS = 1 << (16 - LOG_STEP)
AT, ABOVE = STEPS, STEPS + 1
"""Two numbers behind the counts: the step that the k-th best lies in, and how many sums lie in it or above."""

GROUPS = WINDOW // 16


@kernel
def new_counts() -> Any:
    """No sum met yet."""
    return np.zeros(STEPS + 2, np.int64)


@kernel
def raise_step(seen: Any, k: int) -> Any:
    """Move up while k sums or more lie above the step; returns the lower end of the step, 0 while fewer are known."""
    at, above = seen[AT], seen[ABOVE]
    while above - seen[at] >= k:
        above -= seen[at]
        at += 1
    seen[AT] = at
    seen[ABOVE] = above
    return at << LOG_STEP if above >= k else 0


@kernel
def ask_for(seen: Any, k: int) -> Any:
    """The k-th best for another k, from the same counts."""
    above = np.int64(0)
    for step in range(STEPS):
        above += seen[step]
    seen[AT] = 0
    seen[ABOVE] = above
    return raise_step(seen, k)


@kernel
def kth_group(acc: Any, k: int) -> Any:
    """At least k documents of this window have such a sum (or 0): the k-th best of the maxima of groups of 16.

    A floor to start with, from the lists alone. Documents 2,048 apart form a group: their maxima are vector
    instructions, a hundred times quicker than keeping the first candidates one by one.
    """
    best = np.zeros(GROUPS, np.uint16)
    for first in range(0, WINDOW, GROUPS):
        part = acc[first : first + GROUPS]
        for i in range(GROUPS):
            best[i] = max(best[i], part[i])
    seen = new_counts()
    for i in range(GROUPS):
        seen[best[i] >> LOG_STEP] += 1
    return ask_for(seen, k)
