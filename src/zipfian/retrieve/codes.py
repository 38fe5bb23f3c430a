"""Vectors and queries as codes of few bits, ready for the scan: `kernels.codes` has the arithmetic and the bound."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from zipfian.retrieve.kernels.codes import Coded
    from zipfian.retrieve.kernels.dense import Asked

Metric = Literal["cosine", "dot"]
Matrix = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

_PIECE = 1 << 22
"""Numbers turned into codes at once: a mapped file is read in pieces, never copied as a whole."""

_SAMPLE = 1 << 21
"""Numbers, of rows spread over the segment, that the common direction is taken from."""


@dataclass(frozen=True, slots=True)
class DenseQuery:
    """A query vector made ready: checked, of length 1 for cosine, and as codes for the scan."""

    vector: F64
    size: float
    """Its length, rounded up."""
    coarse: npt.NDArray[np.int8]
    """Codes for the first look at a row, in units of 128 steps."""
    fine: npt.NDArray[np.int8]
    """What is added to them, in steps, for the second."""
    step: float
    lost: tuple[float, float]
    """Length of what rounding took away, in the first look and in the second; rounded up."""

    @classmethod
    def of(cls, vector: F64, size: float) -> DenseQuery:
        """A checked vector of a given length."""
        step = float(np.abs(vector).max()) / (127.0 * 128.0)
        codes = np.rint(vector / step)
        coarse = np.floor((codes + 64.0) / 128.0)
        lost = [
            float(np.sqrt(np.sum((vector - near * step) ** 2))) * (1.0 + 1e-7) + 1e-12 * size
            for near in (128.0 * coarse, codes)
        ]
        fine = (codes - 128.0 * coarse).astype(np.int8)
        return cls(vector, size * (1.0 + 1e-9), coarse.astype(np.int8), fine, step, (lost[0], lost[1]))


class Codes:
    """The codes of one segment's rows, and the direction that they have in common."""

    def __init__(self, rows: Matrix, metric: Metric) -> None:
        kernels = scan_kernels()

        n, dim = rows.shape
        self.half = -(-dim // (2 * kernels.STEP)) * kernels.STEP
        self.direction = _common(rows)
        self.coded: Coded = kernels.Coded(
            *(np.empty((n, self.half), np.uint8) for _ in range(2)),
            *(np.empty((n, 4), np.float32) for _ in range(2)),
            np.empty(n, np.float64),
        )
        step = max(1, _PIECE // dim)
        for start in range(0, n, step):
            piece = np.array(rows[start : start + step], np.float32)  # a copy: kernels take writable arrays
            kernels.quantise(piece, metric == "cosine", self.direction, start, self.coded)

    def __len__(self) -> int:
        return len(self.coded.upper)

    @property
    def inverse(self) -> F64:
        """What makes the product with a row its score, for every row."""
        found: F64 = self.coded.inverse
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(a.nbytes) for a in (*self.coded, self.direction))

    def ask(self, queries: Sequence[DenseQuery]) -> Asked:
        """Queries laid out for the scan of these rows."""
        n, half, dim = len(queries), self.half, len(self.direction)
        asked: Asked = scan_kernels().Asked(
            np.zeros((n, 2 * half), np.int8), np.zeros((n, 2 * half), np.int8), np.empty((2, n), np.int64),
            np.empty(n), np.empty(n), np.empty((2, n, 3)), np.empty(n),
        )  # fmt: skip
        for j, query in enumerate(queries):
            asked.coarse[j, :dim], asked.fine[j, :dim] = query.coarse, query.fine
            asked.sums[:, j] = query.coarse.sum(dtype=np.int64), query.fine.sum(dtype=np.int64)
            asked.step[j] = query.step
            along = asked.along[j] = float(query.vector @ self.direction)
            left = query.vector - along * self.direction
            across = float(np.sqrt(np.sum(left * left))) * (1.0 + 1e-9) + 1e-12 * query.size
            rounding = (dim + 64) * 2.3e-16 * query.size  # of float64 products, per unit of a row's length
            for plane, lost in enumerate(query.lost):
                # a row's `along` is rounded to 32 bits, the rest of it stands in no other bound
                asked.slack[plane, j] = across + rounding, lost + rounding, abs(along) * 1.2e-7 + rounding
            asked.least[j] = query.size * 1e-44  # below the smallest number of 32 bits, nothing is relative
        return asked


def _common(rows: Matrix) -> F64:
    """The mean direction of some rows, of length 1; all zeros where there is none. Any direction is right: one that
    rows share makes the bounds tight."""
    n, dim = rows.shape
    some = rows[:: max(1, n * dim // _SAMPLE)].astype(np.float64)
    lengths = np.sqrt(np.sum(some * some, axis=1, keepdims=True))
    mean: F64 = np.mean(some / np.where(lengths > 0.0, lengths, 1.0), axis=0)
    size = float(np.sqrt(np.sum(mean * mean)))
    return mean / size if size > 1e-6 else np.zeros(dim)


@cache
def scan_kernels() -> Any:
    """Loaded at the first search, machine code kept in the private folder like that of all kernels."""
    from zipfian.retrieve.kernels.jit import private_cache

    with private_cache():
        from zipfian.retrieve.kernels import vectors
    return vectors


_shared: weakref.WeakValueDictionary[Any, Codes] = weakref.WeakValueDictionary()
_shared_lock = threading.Lock()


def codes_of(rows: Matrix | None, key: Hashable | None, metric: Metric) -> Codes | None:
    """The codes of a segment, made once as long as any searcher holds them; `key` names its content, None: nothing."""
    if rows is None or not len(rows):
        return None
    if key is None:
        return Codes(rows, metric)
    with _shared_lock:
        found = _shared.get((key, metric))
    if found is None:
        found = Codes(rows, metric)
        with _shared_lock:
            found = _shared.setdefault((key, metric), found)
    return found
