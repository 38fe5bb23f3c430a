"""What one posting is worth, before idf and query weight: the only arithmetic on weights in the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.jit import inlined
from zipfian.retrieve.layout import BM25L, LINEAR, SATURATE


@inlined
def impact(tf: float, norm: float, family: int, a: float, b: float, c: float, phi: float) -> Any:
    """One term's contribution; `family`, a, b, c and phi come from `scoring.KernelSpec`."""
    x: Any = np.float64(tf)  # not float(): numba would keep float32, and sqrt and log with it
    if phi == 0.5:
        x = math.sqrt(x)
    elif phi != 1.0:
        x = x**phi
    if family == SATURATE:
        return a * x / (x + norm) + b
    if family == BM25L:  # c is k1, b is delta
        y = x / norm + b
        return a * y / (c + y)
    if family == LINEAR:
        return x
    z = 1.0 + math.log(x)  # LOGTF
    return z / norm if z > 0.0 and norm > 0.0 else 0.0
