"""R-MAC: one vector for a picture from the strongest responses of its regions.

The feature map of a network (the grid of an `Encoded`) is covered by squares on a fixed grid, here at two scales: at
scale l their side is 2/(l+1) of the shorter side, and neighbours overlap. A region's vector holds the largest value of
each channel in it, is brought to length 1, whitened where a whitening was fitted, brought to length 1 again; the sum
over all regions, of length 1, is the descriptor. Any network whose map comes as a grid will do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra
from zipfian.types import Encoded, FloatArray

SCALES = 2
OVERLAP = 0.4
"""The overlap of neighbouring regions along the longer side that the number of regions aims at."""
MOST_EXTRA = 6

Box = tuple[int, int, int, int]
"""Rows [0, 1) and columns [2, 3)."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """PCA-whitening: (x - mean) on the principal axes, each divided by its deviation."""

    mean: FloatArray
    axes: FloatArray
    """(kept, dim)."""

    @classmethod
    def fit(cls, regions: Iterable[FloatArray], keep: int | None = None) -> Whitening:
        """From region vectors (rows of matrices, as `Rmac.regions` gives them), read once and not kept."""
        count = 0
        total: npt.NDArray[np.float64] | None = None
        products: npt.NDArray[np.float64] | None = None
        for given in regions:
            rows = np.asarray(given, np.float64)
            if rows.ndim != 2 or not np.isfinite(rows).all():
                raise InvalidInput(f"region vectors must be rows of finite numbers, got shape {rows.shape}")
            if total is None or products is None:
                if rows.shape[1] > limits.MAX_WHITENED_DIM:
                    raise LimitExceeded(
                        f"whitening of {rows.shape[1]:,} components; at most {limits.MAX_WHITENED_DIM:,}"
                    )
                total, products = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1]))
            if rows.shape[1] != len(total):
                raise InvalidInput(f"a region vector of {rows.shape[1]} components among some of {len(total)}")
            total += rows.sum(axis=0)
            products += rows.T @ rows
            count += len(rows)
        if total is None or products is None or count < 2:
            raise InvalidInput(f"a whitening needs at least two region vectors, not {count}")
        kept = min(len(total), count - 1) if keep is None else keep
        if isinstance(kept, bool) or not 1 <= kept <= len(total):
            raise InvalidInput(f"keep must be a number of components from 1 to {len(total)}, not {keep!r}")
        middle = total / count
        values, vectors = np.linalg.eigh(products / count - np.outer(middle, middle))
        order = np.argsort(-values, kind="stable")[:kept]
        # directions without variance would be blown up to noise: they are damped instead
        least = max(float(values[order[0]]) * 1e-6, 1e-12)
        whitened = vectors[:, order].T / np.sqrt(np.maximum(values[order], least))[:, None]
        return cls(middle.astype(np.float32), whitened.astype(np.float32))

    def __call__(self, rows: FloatArray) -> FloatArray:
        if rows.shape[1] != len(self.mean):
            raise InvalidInput(f"the whitening is for {len(self.mean)} components, not {rows.shape[1]}")
        out: FloatArray = ((rows - self.mean) @ self.axes.T).astype(np.float32)
        return out

    def save(self, path: str | Path) -> None:
        """One safetensors file."""
        _safetensors().save_file({"mean": self.mean.copy(), "axes": self.axes.copy()}, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Whitening:
        """What `save` wrote."""
        arrays = _safetensors().load_file(Path(path))
        mean, axes = arrays.get("mean"), arrays.get("axes")
        if mean is None or axes is None or axes.ndim != 2 or axes.shape[1:] != mean.shape:
            raise InvalidInput(f"{path}: not a whitening")
        return cls(mean, axes)


@dataclass(frozen=True, eq=False)
class Rmac:
    """Descriptors of encoded pictures.

    >>> regions((12, 12), 2)
    [(0, 12, 0, 12), (0, 8, 0, 8), (0, 8, 4, 12), (4, 12, 0, 8), (4, 12, 4, 12)]
    """

    scales: int = SCALES
    whitening: Whitening | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scales, bool) or not isinstance(self.scales, int) or not 1 <= self.scales <= 8:
            raise InvalidInput(f"scales must be a whole number from 1 to 8, not {self.scales!r}")

    def regions(self, encoded: Encoded) -> FloatArray:
        """(regions, dim): the largest responses in each region, of length 1; what a whitening is fitted on."""
        field = _map(encoded)
        boxes = regions((field.shape[0], field.shape[1]), self.scales)
        strongest = np.stack([field[a:b, c:d].max(axis=(0, 1)) for a, b, c, d in boxes])
        return _unit(strongest.astype(np.float32))

    def __call__(self, encoded: Encoded) -> FloatArray:
        """One vector of length 1 (all zeros only for a map of zeros)."""
        return self.combine(self.regions(encoded))

    def combine(self, rows: FloatArray) -> FloatArray:
        """From the region vectors to the descriptor."""
        if self.whitening is not None:
            rows = _unit(self.whitening(rows))
        total = rows.sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        out: FloatArray = (total / (length or 1.0)).astype(np.float32)
        return out


def regions(grid: tuple[int, int], scales: int = SCALES) -> list[Box]:
    """The squares that cover a grid of cells, scale by scale, row by row."""
    rows, columns = grid
    short, long = min(grid), max(grid)
    if short < 1:
        raise InvalidInput(f"a grid of {rows} x {columns} has no cells")
    extra = _extra(short, long)
    out: list[Box] = []
    for scale in range(1, scales + 1):
        side = max(1, 2 * short // (scale + 1))
        down = _starts(rows, side, scale + (extra if rows > columns else 0))
        across = _starts(columns, side, scale + (extra if columns > rows else 0))
        out += [(r, r + side, c, c + side) for r in down for c in across]
    return out


def _extra(short: int, long: int) -> int:
    """Regions more along the longer side, so that at the first scale neighbours overlap by about 40 %."""
    if short == long:
        return 0
    overlaps = [1.0 - (long - short) / (n * short) for n in range(1, MOST_EXTRA + 1)]
    return 1 + min(range(MOST_EXTRA), key=lambda i: abs(overlaps[i] - OVERLAP))


def _starts(length: int, side: int, n: int) -> list[int]:
    """Where n stretches begin that cover a length evenly; equal places count once."""
    if n == 1:
        return [(length - side) // 2]
    return sorted({(length - side) * i // (n - 1) for i in range(n)})


def _map(encoded: Encoded) -> FloatArray:
    if encoded.grid is None:
        raise InvalidInput("R-MAC needs the grid of a picture's encoder; this item has none (is it a text?)")
    rows, columns = encoded.grid
    if len(encoded.vectors) != rows * columns:
        raise InvalidInput(f"{len(encoded.vectors)} patches do not fill a grid of {rows} x {columns}")
    field = np.empty((rows, columns, encoded.vectors.shape[1]), np.float32)
    field[encoded.places[:, 0], encoded.places[:, 1]] = encoded.vectors
    return field


def _unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(length > 0.0, length, 1.0)).astype(rows.dtype)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingExtra("saving or loading a whitening", "image") from None
    return safetensors.numpy
