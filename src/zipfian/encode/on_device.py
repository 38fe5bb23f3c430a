"""Encoded items whose token vectors are still on a GPU: copied here only where somebody reads them.

What a vocabulary makes of the vectors is a few terms a token, a hundredth of the bytes. So the vectors of many items
lie in one matrix, a vocabulary projects all of it at once (`through`), and only that comes back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.device import Precision, running
from zipfian.types import Encoded, FloatArray, IntArray

Array = npt.NDArray[Any]
Project = Callable[[Any], tuple[Array, Array]]
"""From rows on the device to two arrays here, with a row for each."""


class Matrix:
    """The token vectors of several items, one below the other; safe to share between threads."""

    def __init__(self, rows: Any, device: str, precision: Precision) -> None:
        self.device = device
        self.precision: Precision = precision
        self.dim = int(rows.shape[1])
        """Components of a vector."""
        self._rows = rows
        self._lock = threading.Lock()
        self._projected: dict[Hashable, tuple[Array, Array]] = {}

    def through(self, key: Hashable, project: Project) -> tuple[Array, Array]:
        """What `project` makes of all rows; once for each `key`, whoever asks."""
        with self._lock:
            if key not in self._projected:
                with running(self.device):
                    self._projected[key] = project(self._rows)
            return self._projected[key]

    def fetch(self, rows: slice) -> FloatArray:
        """Some rows as numbers here."""
        with running(self.device):
            found: FloatArray = self._rows[rows].cpu().float().numpy()  # float32 here: the device may be full
            return found


class OnDevice(Encoded):
    """An item of a `Matrix`. It is an `Encoded` in every respect; `vectors` copies them here when first asked for."""

    __slots__ = ("_host", "_kept", "_rows", "matrix")

    matrix: Matrix
    _rows: slice
    _kept: npt.NDArray[np.bool_] | None
    _host: FloatArray | None

    def __init__(
        self, matrix: Matrix, rows: slice, kept: npt.NDArray[np.bool_] | None, places: IntArray, pieces: IntArray,
        pooled: FloatArray, grid: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """`kept`: which of the rows are the item's; None: all of them."""
        found = {
            "places": places, "pieces": pieces, "pooled": pooled, "grid": grid, "matrix": matrix, "_rows": rows,
            "_kept": kept, "_host": None,
        }  # fmt: skip
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def vectors(self) -> FloatArray:
        """(tokens, dim): hidden states."""
        if self._host is None:
            object.__setattr__(self, "_host", self._own(self.matrix.fetch(self._rows)))
        host: FloatArray = self._host  # type: ignore[assignment]
        return host

    def through(self, key: Hashable, project: Project) -> tuple[Array, Array]:
        """What `project` makes of the item's vectors, which stay where they are."""
        first, second = self.matrix.through(key, project)
        return self._own(first[self._rows]), self._own(second[self._rows])

    def fetched(self) -> Encoded:
        """The item without the device."""
        return Encoded(self.vectors, self.places, self.pieces, self.pooled, self.grid)

    def _own(self, rows: Array) -> Array:
        return rows if self._kept is None else rows[self._kept]
