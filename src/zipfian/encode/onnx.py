"""Write an ONNX model: nodes and weights in, the bytes that onnxruntime loads out.

Only the subset of `onnx.proto` that the encoders' graphs need, with the field numbers of the ONNX specification
(IR version 8).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zipfian.encode import _protobuf as pb

IR_VERSION = 8
OPSET = 17
CONTRIB = "com.microsoft"
"""Operators that onnxruntime adds to the standard ones."""

Value = int | float | str | Sequence[int]
Dim = int | str

_TYPES = {
    np.dtype(np.float32): 1,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int32): 6,
    np.dtype(np.int64): 7,
}
_INT, _FLOAT, _STRING, _INTS = 2, 1, 3, 7


class Graph:
    """A graph under construction; every method that adds something returns the name to refer to it by."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._weights: list[bytes | memoryview] = []
        """Pieces of their fields: the numbers are views of the arrays until the file is written."""
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[Dim]) -> str:
        """Declare an input; a dimension given by name may have any size."""
        self._inputs.append(pb.blob(11, _value_info(name, np.dtype(dtype), shape)))
        return name

    def output(self, name: str, dtype: npt.DTypeLike, shape: Sequence[Dim]) -> None:
        """Declare the value `name` an output."""
        self._outputs.append(pb.blob(12, _value_info(name, np.dtype(dtype), shape)))

    def weight(self, array: npt.NDArray[np.generic], name: str = "") -> str:
        """A constant."""
        name = name or self._fresh("w")
        data = np.ascontiguousarray(array)
        little = data.astype(data.dtype.newbyteorder("<"), copy=False)
        dims = b"".join(pb.integer(1, n) for n in data.shape)
        about = dims + pb.integer(2, _TYPES[data.dtype]) + pb.text(8, name)
        self._weights += pb.message(5, [about, *pb.message(9, [little.data.cast("B")])])
        return name

    def node(
        self, op: str, inputs: Sequence[str], *, out: str = "", domain: str = "", skipped: int = 0, **attributes: Value
    ) -> str:
        """One operation; the name of its output (`skipped`: how many unused outputs come before it)."""
        out = out or self._fresh(op.lower())
        parts = [pb.text(1, name) for name in inputs]
        parts += [pb.text(2, "")] * skipped
        parts += [pb.text(2, out), pb.text(4, op)]
        parts += [pb.blob(5, _attribute(name, value)) for name, value in attributes.items()]
        if domain:
            parts.append(pb.text(7, domain))
        self._nodes.append(pb.blob(1, b"".join(parts)))
        return out

    def to_bytes(self) -> bytes:
        """The whole model as an ONNX file."""
        graph = pb.message(7, (*self._nodes, pb.text(2, self.name), *self._weights, *self._inputs, *self._outputs))
        opsets = pb.blob(8, pb.text(1, "") + pb.integer(2, OPSET)) + pb.blob(8, pb.text(1, CONTRIB) + pb.integer(2, 1))
        return b"".join((pb.integer(1, IR_VERSION), pb.text(2, "zipfian"), *graph, opsets))

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def _value_info(name: str, dtype: np.dtype[np.generic], shape: Sequence[Dim]) -> bytes:
    dims = b"".join(pb.blob(1, pb.integer(1, d) if isinstance(d, int) else pb.text(2, d)) for d in shape)
    tensor = pb.integer(1, _TYPES[dtype]) + pb.blob(2, dims)
    return pb.text(1, name) + pb.blob(2, pb.blob(1, tensor))


def _attribute(name: str, value: Value) -> bytes:
    start = pb.text(1, name)
    if isinstance(value, int):
        return start + pb.integer(3, value) + pb.integer(20, _INT)
    if isinstance(value, float):
        return start + pb.real(2, value) + pb.integer(20, _FLOAT)
    if isinstance(value, str):
        return start + pb.text(4, value) + pb.integer(20, _STRING)
    return start + b"".join(pb.integer(8, v) for v in value) + pb.integer(20, _INTS)
