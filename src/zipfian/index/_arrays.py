"""Small array helpers that several files of a segment share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def smallest_uint(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same non-negative integers in the smallest unsigned type that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max()) if len(values) else 0))


def smallest_int(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same integers in the smallest signed type that holds them all."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


def offsets(counts: npt.NDArray[Any]) -> Ints:
    """Where each of the consecutive pieces with these sizes starts, and where the last one ends."""
    out = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def stable_order(keys: npt.NDArray[Any], largest: int) -> Ints:
    """Stable argsort of integers from 0 to `largest`.

    numpy sorts 16-bit integers by radix, several times faster than wider ones, so wide keys take two such passes.
    """
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    if largest > 0xFFFF:
        high = (keys >> 16).astype(np.uint16)
        order = order[np.argsort(high[order], kind="stable")]
    return order


def chunks(ends: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Cut runs (given by their cumulated sizes) into slices [first, last) of about `size` values, none empty."""
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        yield first, last
        first = last
