"""The k-th best of the sums met so far, to within a step of 16: a count per step instead of a heap.

Adding a sum is one increment; moving on to the next step costs a little once in a while. With k = 200 this takes a
fraction of a heap's time. The k-th best is rounded down to a step, so it stays a lower bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.layout import LOG_STEP

STEPS = 1 << (16 - LOG_STEP)
AT, ABOVE = STEPS, STEPS + 1
"""Two numbers behind the counts: the step that the k-th best lies in, and how many sums lie in it or above."""


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
