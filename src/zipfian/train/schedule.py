"""The learning rate of every training: a straight rise, then half a cosine down to nothing."""

from __future__ import annotations

import math


def rate(step: int, steps: int, peak: float, warmup: float) -> float:
    """Of a step (from 0) of `steps`; `warmup` is the share of them in which it rises."""
    rise = max(1, round(warmup * steps)) if warmup > 0 else 0
    if step < rise:
        return peak * (step + 1) / rise
    done = (step - rise) / max(1, steps - rise)
    return peak * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))
