"""Read the weights of a network out of an ONNX file, under the names that its modules had where it was trained.

Exporters keep the names of embeddings, norms and biases, but fold the matrix of a linear layer into a constant that is
already transposed and called `onnx::MatMul_1525`. It is the bias added to a product that says whose matrix it was. Only
the weights are read: the graph itself is written anew (`bert.py`), so one network runs as another does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zipfian.encode import _protobuf as pb
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray

_FLOAT = 1
"""Type of a tensor of 32-bit numbers."""


def read_weights(path: Path) -> dict[str, FloatArray]:
    """Every constant of 32-bit numbers by name; matrices of linear layers as (outputs, inputs), as in a checkpoint."""
    graph = _only(memoryview(path.read_bytes()), 7, path)
    constants = dict(_constants(graph, path))
    for layer, matrix in _linear_layers(graph, constants):
        constants[f"{layer}.weight"] = constants.pop(matrix).T
    return constants


def _constants(graph: memoryview, path: Path) -> Iterator[tuple[str, FloatArray]]:
    for tensor in _all(graph, 5):
        parts = list(pb.fields(tensor))
        if (2, _FLOAT) not in parts:
            continue
        shape = [size for number, size in parts if number == 1 and isinstance(size, int)]
        name, raw = _text(_only(tensor, 8, path)), _only(tensor, 9, path)
        if len(raw) != 4 * math.prod(shape):
            raise InvalidInput(
                f"{path}: {name} has {len(raw):,} bytes, its shape {shape} takes {4 * math.prod(shape):,}"
            )
        yield name, np.frombuffer(raw, dtype="<f4").reshape(shape)


def _linear_layers(graph: memoryview, constants: dict[str, FloatArray]) -> Iterator[tuple[str, str]]:
    """Name of each layer and of its matrix: product = input x matrix, and then product + NAME.bias."""
    matrices: dict[str, str] = {}
    for node in _all(graph, 1):
        inputs, outputs, operators = ([_text(value) for value in _all(node, number)] for number in (1, 2, 4))
        if operators == ["MatMul"] and inputs[1] in constants:
            matrices[outputs[0]] = inputs[1]
        if operators == ["Add"]:
            products = [name for name in inputs if name in matrices]
            biases = [name for name in inputs if name.endswith(".bias") and name in constants]
            if products and biases:
                yield biases[0].removesuffix(".bias"), matrices[products[0]]


def _all(message: memoryview, number: int) -> Iterator[memoryview]:
    for field, value in pb.fields(message):
        if field == number and not isinstance(value, int):
            yield value


def _only(message: memoryview, number: int, path: Path) -> memoryview:
    found = list(_all(message, number))
    if len(found) != 1:
        raise InvalidInput(
            f"{path} is not an ONNX file with its weights inside: field {number} is there {len(found)} times"
        )
    return found[0]


def _text(value: memoryview) -> str:
    return str(value, "utf-8")
