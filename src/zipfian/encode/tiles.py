"""Which parts of a picture a network looks at, as shares of it, and where their patches lie in the whole picture."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.types import FloatArray, IntArray

Tile = tuple[float, float, float, float]
"""Left, upper, width and height as shares of the picture."""
WHOLE: Tile = (0.0, 0.0, 1.0, 1.0)

_CROPS = re.compile(r"([1-4])x([1-4])(?::(0?\.[0-9]{1,6}))?")


def tiles_of(crops: str | None) -> tuple[Tile, ...]:
    """What `crops` says, row by row; nothing for the whole picture alone.

    >>> tiles_of("1x2")
    ((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 0.5, 1.0))
    """
    if crops is None:
        return ()
    found = _CROPS.fullmatch(crops) if isinstance(crops, str) else None
    rows, columns = (int(found[1]), int(found[2])) if found else (1, 1)
    side = float(found[3]) if found and found[3] else None
    if rows * columns == 1 or (side is not None and not 1 / max(rows, columns) <= side < 1):
        raise InvalidInput(
            f"crops is rows x columns of tiles from '1x2' to '4x4', with a side below 1 that leaves no gaps where they "
            f"overlap ('2x2:0.875'), or None; not {crops!r}"
        )
    across = _spread(columns, side)
    return tuple((left, upper, wide, high) for upper, high in _spread(rows, side) for left, wide in across)


def inside(box: Tile, tile: Tile) -> Tile:
    """A tile of a box (left, upper, right, lower), as such a box."""
    if tile == WHOLE:
        return box
    left, upper, wide, high = tile
    x, y, right, lower = box
    return (
        x + left * (right - x),
        y + upper * (lower - y),
        min(right, x + (left + wide) * (right - x)),
        min(lower, y + (upper + high) * (lower - y)),
    )


def places_of(tile: Tile, grid: tuple[int, int]) -> IntArray:
    """(patches, 2): for each patch of a tile the cell of the whole picture's grid that its middle lies in."""
    left, upper, wide, high = tile
    rows, columns = grid
    y, x = np.divmod(np.arange(rows * columns), columns)
    places = np.stack([upper * rows + (y + 0.5) * high, left * columns + (x + 0.5) * wide], axis=1)
    return places.astype(np.int32)


def pooled(totals: Iterable[npt.NDArray[np.float64]]) -> FloatArray | None:
    """One vector of length 1 from the sums of a picture's views, each of which counts alike; None: no numbers."""
    units = []
    for total in totals:
        length = float(np.linalg.norm(total))
        if not (np.isfinite(length) and length > 0):
            return None
        units.append(total / length)
    out = units[0]
    if len(units) > 1:
        out = np.sum(units, axis=0)
        out = out / np.linalg.norm(out)
    return out.astype(np.float32)


def _spread(count: int, side: float | None) -> list[tuple[float, float]]:
    """Start and length of `count` parts that reach from end to end."""
    length = 1.0 / count if side is None or count == 1 else side
    return [((1.0 - length) * i / max(1, count - 1), length) for i in range(count)]
