"""Token vectors to their strongest terms, several times faster than the full product in float32.

A plain product with 16,384 terms costs half as much as the encoder. Here each token is rounded to 8 bits with a step of
its own and multiplied with the int8 rows of the encoder in whole numbers (onnxruntime, four times the speed of float32
on processors with such instructions). That is exact but for the rounding of the token, whose error in the value of
term j is at most |what rounding lost| x |row j| (Cauchy and Schwarz). A term whose approximate value plus that bound is
below the k-th best minus its bound cannot be among the k best; the others, about 7 of 16,384 for k = 4, are computed
again in float32 from the unrounded token. So the result is that of the full product: nothing is lost, and no value
depends on the screening. Rows that are not stored as int8 are rounded too, with one more such bound.

A token with a few very large components (patches of pictures have them) would get coarse steps; these components are
cut, and what was cut is added to all products apart. For a picture's 144 patches and 11,520 terms: 19 ms, before 65.

Timed apart on one AVX-512 core, per token of MiniLM (the encoder: about 280 us): float32 product 150 us, this 34 us for
k = 4, of which 29 are the whole-number product. Also tried: uint8 rows (76 us, another kernel of onnxruntime), blocks
of terms small enough for the cache (no gain), maxima of neighbouring columns (twice the time of interleaved ones).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.types import FloatArray, IntArray, Terms
from zipfian.vocabulary._sae_weights import SaeWeights, quantise

Array = npt.NDArray[Any]
Multiply = Callable[[npt.NDArray[np.uint8]], Array]

BLOCK_PRODUCTS = 1 << 19
"""Products held at a time: 2 MB, about what a core's own cache holds."""
LARGE_ROWS = 1 << 23
"""Bytes of rows that no cache holds: then four times as many products, so that the rows are read less often."""
ROUNDING = 1.2e-7
"""Twice the relative error of one float32 operation."""


class Projection:
    """The encoder half of an autoencoder, ready to run; `strongest` may be called from several threads at once."""

    def __init__(self, weights: SaeWeights, steps: tuple[npt.NDArray[np.int8], FloatArray] | None = None) -> None:
        """`steps`: the int8 rows and their steps where the encoder is stored so, and equal to their product."""
        from zipfian.vocabulary import _sae_kernels

        self._kernels = _sae_kernels
        unit = _sae_kernels.LANES * _sae_kernels.PARTS
        self.dim, self.n_terms = weights.dim, weights.n_terms
        self._width = -(-self.dim // unit) * unit
        spread, per_group = _sae_kernels.SPREAD, _sae_kernels.PER_GROUP
        n_blocks = -(-self.n_terms // (spread * per_group))
        n_columns = n_blocks * spread * per_group
        rows = weights.encoder if steps is None else steps[0]
        row_step = np.ones(self.n_terms, np.float32) if steps is None else steps[1]
        rounded, step = quantise(weights.encoder) if steps is None else steps
        length = np.linalg.norm(weights.encoder, axis=1)
        norm, residue = length, np.zeros_like(length)
        if steps is None:
            whole = rounded.astype(np.float32) * step[:, None]
            norm, residue = np.linalg.norm(whole, axis=1), np.linalg.norm(weights.encoder - whole, axis=1)
        # Sums of so many products in float32 differ from exact ones by this much, relative to both lengths.
        residue = residue + (self._width / unit + 48) * ROUNDING * length
        # Terms of about equal norm share a group: then one bound for all of a group is as good as one for each.
        order = np.argsort(norm, kind="stable")
        by_group = np.arange(n_columns).reshape(n_blocks, per_group, spread).transpose(0, 2, 1)
        places = by_group.ravel()[: self.n_terms]

        def column(array: Array, rest: float = 0.0) -> Array:
            """One number per column; `rest` for those that only fill up the groups."""
            out = np.full(n_columns, rest, np.float32)
            out[places] = array[order]
            return out

        def largest(array: Array) -> Array:
            """Of every group."""
            return np.ascontiguousarray(column(array)[by_group].max(axis=2).ravel())

        terms = np.zeros(n_columns, np.int32)
        terms[places] = order
        self._columns = (terms, column(step), column(weights.bias, -np.inf))
        self._groups = (largest(norm * 1.0001), largest(residue), largest(4 * ROUNDING * np.abs(weights.bias)))
        self._rows = (_padded(rows, self._width), row_step, weights.bias.astype(np.float32))
        self._mu, self._scale = weights.mu.astype(np.float32), np.float32(weights.scale)
        matrix = np.zeros((n_columns, self._width), np.int8)
        self._block = max(1, BLOCK_PRODUCTS * (4 if matrix.nbytes > LARGE_ROWS else 1) // n_columns)
        matrix[places, : self.dim] = rounded[order]
        self._multiply, self._zero = _multiplier(matrix)
        self._by_component = np.ascontiguousarray(matrix.T)
        self._room = threading.local()

    def strongest(self, vectors: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        """(tokens, k): terms and values, strongest first, equal ones by lower id; -1 and 0 where there are fewer."""
        n = len(vectors)
        found, values = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        x = np.zeros((min(n, self._block), self._width), np.float32)
        rounded = np.empty(x.shape, np.uint8)
        tokens = np.empty((3, len(x)), np.float32)
        outlier = np.empty((len(x), self._kernels.OUTLIERS), np.int32)
        excess = np.zeros(outlier.shape, np.float32)
        numbers, ids = self._scratch(k)
        for start in range(0, n, self._block):
            part = vectors[start : start + self._block]
            here = len(part)
            bad = self._kernels.prepare(part, self._mu, self._scale, self._zero, x, rounded, tokens, outlier, excess)
            if bad >= 0:
                raise InvalidInput(
                    f"the vector of token {start + bad} holds values that are not finite or absurdly large: "
                    "the encoder or its weights are at fault"
                )
            products = self._multiply(rounded[:here])
            stop = start + here
            self._kernels.select(
                products, self._columns, self._groups, self._rows, x[:here], tokens,
                (outlier, excess, self._by_component), k,
                found[start:stop], values[start:stop], numbers, ids,
            )  # fmt: skip
        return found, values

    def _scratch(self, k: int) -> tuple[FloatArray, IntArray]:
        """Room for one call, kept for each thread."""
        room = getattr(self._room, "arrays", None)
        n_columns = len(self._columns[0])
        size = 4 * n_columns + k + self._width
        if room is None or len(room[0]) < size:
            room = (np.empty(size, np.float32), np.empty(n_columns, np.int32))
            self._room.arrays = room
        return room[0][:size], room[1]


class Pool:
    """The activations of an item's tokens put together; may be called from several threads at once."""

    def __init__(self, n_terms: int) -> None:
        self._size = -(-n_terms // 8) * 8
        self._room = threading.local()

    def __call__(self, found: Array, values: FloatArray, *, largest: bool = False) -> Terms:
        """Terms and values of each token (values of 0 are none) -> the item's terms, summed or the largest."""
        from zipfian.vocabulary._sae_kernels import pool

        room = getattr(self._room, "arrays", None)
        if room is None:
            marks = np.zeros(self._size, np.uint8)
            room = self._room.arrays = (np.zeros(self._size), marks, marks.view(np.uint64))
        most = min(found.size, self._size)
        ids, weights = np.empty(most, np.int32), np.empty(most, np.float32)
        count = pool(found, values, largest, *room, ids, weights)
        return Terms(ids[:count].copy(), weights[:count].copy())


def _padded(array: Array, width: int) -> Array:
    """Rows filled up with zeros."""
    out = np.zeros((len(array), width), array.dtype)
    out[:, : array.shape[1]] = array
    return out


def _multiplier(rows: npt.NDArray[np.int8]) -> tuple[Multiply, int]:
    """A function from rounded tokens to their whole-number products with all rows, and what stands for 0 in a token.

    Processors without instructions for sums of 8-bit products add pairs of them in 16 bits, which can overflow. The
    largest token shows whether any can: then tokens have 7 bits, and it cannot happen.
    """
    try:
        import onnxruntime  # noqa: F401 - only whether it is there
    except ImportError:
        return _plain_multiplier(rows, 128), 128
    multiply = _integer_multiplier(rows, 128)
    expected = rows.sum(axis=1, dtype=np.int64) * 127
    if np.array_equal(multiply(np.full((1, rows.shape[1]), 255, np.uint8))[0], expected):
        return multiply, 128
    return _integer_multiplier(rows, 64), 64


def _integer_multiplier(rows: npt.NDArray[np.int8], zero: int) -> Multiply:
    from zipfian.encode.onnx import Graph
    from zipfian.encode.session import Session

    graph = Graph("project")
    tokens = graph.input("tokens", np.uint8, ("tokens", rows.shape[1]))
    products = graph.node("MatMulInteger", [tokens, graph.weight(rows.T), graph.weight(np.array(zero, np.uint8))])
    graph.output(products, np.int32, ("tokens", rows.shape[0]))
    session = Session(graph.to_bytes(), "text")
    return lambda rounded: session.run([products], {"tokens": rounded})[0]


def _plain_multiplier(rows: npt.NDArray[np.int8], zero: int) -> Multiply:
    """Without onnxruntime: the same products, slower. Whole numbers are exact in float32 up to 2**24."""
    dtype: type[np.floating] = np.float32 if 127 * 127 * rows.shape[1] < 2**24 else np.float64
    matrix: Array = rows.astype(dtype).T

    def multiply(rounded: npt.NDArray[np.uint8]) -> Array:
        shifted: Array = rounded.astype(dtype)
        shifted -= zero
        return shifted @ matrix

    return multiply
