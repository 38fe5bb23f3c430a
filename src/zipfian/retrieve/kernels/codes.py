"""Rows of vectors as codes: 8 bits a number, kept as two planes of 4, and what bounds the error of each.

A row v (of length 1 for cosine) is taken apart into what lies along one direction u, common to all rows, and codes of
the rest: v = along x u + step x codes + e. `along` is chosen after rounding, so that e is orthogonal to u. What a query
q has along u then meets nothing of e, and by Cauchy-Schwarz

    | q . v - along x (q . u) - step x (q . codes) |  <=  |q orthogonal to u| x |e|

That matters where all vectors point the same way, as those of many encoders do: there both factors are small.

A code is a byte less 127.5. Its upper four bits are a code of their own: the middle of the 16 bytes that begin with
them. `along` and e exist twice, for the upper four bits and for all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from zipfian.retrieve.kernels.jit import kernel

TINY = 1e-30
"""Below this, a length counts as 0."""

MIDDLE = 127.5
"""What is taken off a byte: codes run from -127.5 to 127.5."""

UPPER_MIDDLE = 120.0
"""And off its upper four bits, as a multiple of 16: they stand for the middle of 16 bytes, 7.5 above the first."""


STEP, SIZE, ALONG, ERROR = 0, 1, 2, 3
"""What is known of a row, in one place, so that the scan reads it with one access: the value of one unit of a code, the
length of the codes' value, what of the row lies along the common direction, and the length of what is lost."""


class Coded(NamedTuple):
    """The codes of a segment's rows. Errors and sizes are rounded up."""

    upper: Any  # uint8[rows, half]: upper four bits, of number i below and of number half + i above
    lower: Any  # uint8[rows, half]: the lower four bits
    about: Any  # float32[rows, 4]: STEP, SIZE; ALONG and ERROR of the upper plane
    about_both: Any  # float32[rows, 4]: the same of both planes
    inverse: Any  # float64[rows]: 1 / length of the row (1 for dot products; 0 for a row of zeros)


@kernel
def length(a: Any) -> float:
    """The Euclidean length of a float32 row, in float64."""
    total = 0.0
    for i in range(len(a)):
        total += np.float64(a[i]) * np.float64(a[i])
    return math.sqrt(total)


@kernel
def quantise(rows: Any, unit: bool, u: Any, start: int, out: Coded) -> None:
    """Codes of rows (divided by their length if `unit`) into out[start:]; `u` has length 1, or is all zeros."""
    n, dim = rows.shape
    half = out.upper.shape[1]
    value, code, rest = np.empty(dim, np.float64), np.empty(dim, np.float64), np.empty(dim, np.float64)
    for i in range(n):
        r = start + i
        row = rows[i]
        norm = length(row) if unit else 1.0
        inverse = 1.0 / norm if norm > TINY else 0.0
        out.inverse[r] = inverse
        along = 0.0
        for x in range(dim):
            value[x] = np.float64(row[x]) * inverse
            along += value[x] * u[x]
        top = 0.0
        for x in range(dim):
            rest[x] = value[x] - along * u[x]
            top = max(top, abs(rest[x]))
        width = np.nextafter(np.float32(top / MIDDLE), np.float32(np.inf))
        scale = 1.0 / np.float64(width)
        for x in range(dim):
            code[x] = min(max(np.rint(rest[x] * scale + MIDDLE), 0.0), 255.0)
        _pack(code, half, out.upper[r], out.lower[r])
        for x in range(dim):
            rest[x] = 16.0 * np.floor(code[x] / 16.0) - UPPER_MIDDLE
            code[x] -= MIDDLE
        _bound(value, rest, width, u, out.about[r])
        _bound(value, code, width, u, out.about_both[r])


@kernel
def _pack(code: Any, half: int, upper: Any, lower: Any) -> None:
    """Both planes of a row of bytes; what is beyond the last is 0, and meets zeros of the query."""
    dim = len(code)
    for x in range(half):
        here = np.uint8(code[x]) if x < dim else np.uint8(0)
        there = np.uint8(code[half + x]) if half + x < dim else np.uint8(0)
        upper[x] = np.uint8(here >> np.uint8(4)) | np.uint8(there & np.uint8(240))
        lower[x] = np.uint8(here & np.uint8(15)) | np.uint8(there << np.uint8(4))


@kernel
def _bound(value: Any, code: Any, width: Any, u: Any, about: Any) -> None:
    """What of a row lies along u when its codes are taken away, and the length of what is then left."""
    step = np.float64(width)
    along, kept = 0.0, 0.0
    for x in range(len(value)):
        near = code[x] * step
        along += (value[x] - near) * u[x]
        kept += near * near
    kept = math.sqrt(kept)
    if not (abs(along) < 1e38 and kept < 1e38):  # 32 bits do not hold it: nothing is known, so every search scores it
        about[STEP], about[SIZE], about[ALONG], about[ERROR] = 0.0, 0.0, 0.0, np.inf
        return
    about[STEP] = width
    about[ALONG] = along
    lost = 0.0
    for x in range(len(value)):
        left = value[x] - code[x] * step - np.float64(about[ALONG]) * u[x]
        lost += left * left
    grown = math.sqrt(lost) * (1.0 + 1e-7) + 1e-12 * (kept + abs(along))  # for the rounding of these sums themselves
    about[ERROR] = np.nextafter(np.float32(grown), np.float32(np.inf))
    about[SIZE] = np.nextafter(np.float32(kept * (1.0 + 1e-7)), np.float32(np.inf))
