"""EfficientNet-Lite as an ONNX graph, written from its weights.

Batch norms are folded into the convolutions before them. Padding is TensorFlow's "same" (more at the bottom and right),
activations are cut at 6, there is no squeeze-and-excitation: that is what makes it the Lite variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode.onnx import Graph
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray

Weights = Mapping[str, npt.NDArray[Any]]

EPSILON = 1e-3
"""Of the batch norms."""

MEAN, SPREAD = 127.0, 128.0
"""The Lite variants were trained on (pixel - 127) / 128, the same for all three colours."""

LITE2_STRIDES = (1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1)
"""Stride of each of the 21 blocks; all other sizes are in the weights."""

LITE2_CHANNELS = (16, *3 * (24,), *3 * (48,), *4 * (88,), *4 * (120,), *5 * (208,), 352)
"""Channels of the map after each block."""

CHANNELS = 1280
CELL = 32
"""Pixels of the input that one cell of the output map stands for, in each direction."""


def cell_of(block: int | None, strides: tuple[int, ...] = LITE2_STRIDES) -> int:
    """Pixels that one cell of a block's map stands for, in each direction; of the last convolution for None."""
    return CELL if block is None else 2 * int(np.prod(strides[: block + 1]))


def efficientnet_graph(
    weights: Weights, strides: tuple[int, ...] = LITE2_STRIDES, *, classes: bool = False, block: int | None = None
) -> bytes:
    """The model as an ONNX file.

    Input: `pixels` (batch, height, width, 3), uint8 RGB. Output: `patches` (batch, cells, 1280), the map of the last
    convolution row by row; with `classes` instead the `scores` (batch, 1000) of the ImageNet classes. With `block`,
    `early` (batch, cells, channels) is the map after that block, beside `patches`.
    """
    writer = _Net(weights)
    graph = writer.graph
    pixels = graph.input("pixels", np.uint8, ("batch", "height", "width", 3))
    values = graph.node("Transpose", [graph.node("Cast", [pixels], to=1)], perm=(0, 3, 1, 2))
    values = graph.node("Sub", [values, graph.weight(np.array(MEAN, dtype=np.float32))])
    values = graph.node("Mul", [values, graph.weight(np.array(1 / SPREAD, dtype=np.float32))])
    values = writer.convolution("_conv_stem", "_bn0", values, stride=2)
    for number, stride in enumerate(strides):
        values = writer.block(f"_blocks.{number}.", values, stride)
        if number == block:
            writer.rows(values, "early", len(writer.array(f"_blocks.{number}._project_conv.weight")))
    values = writer.convolution("_conv_head", "_bn1", values)
    if classes:
        mean = graph.node("GlobalAveragePool", [values])
        flat = graph.node("Flatten", [mean], axis=1)
        inputs = [flat, graph.weight(writer.array("_fc.weight")), graph.weight(writer.array("_fc.bias"))]
        graph.output(graph.node("Gemm", inputs, out="scores", transB=1), np.float32, ("batch", 1000))
    else:
        writer.rows(values, "patches", CHANNELS)
    return graph.to_bytes()


class _Net:
    def __init__(self, weights: Weights) -> None:
        self.graph = Graph("efficientnet-lite")
        self._weights = weights

    def rows(self, values: str, name: str, channels: int) -> None:
        """An output: a map, cell after cell."""
        flat = self.graph.node("Reshape", [values, self.graph.weight(np.array([0, 0, -1], dtype=np.int64))])
        out = self.graph.node("Transpose", [flat], perm=(0, 2, 1), out=name)
        self.graph.output(out, np.float32, ("batch", f"{name}_cells", channels))

    def block(self, prefix: str, values: str, stride: int) -> str:
        """Widen, convolve each channel by itself, narrow; with a shortcut where the shape stays."""
        inside = values
        if f"{prefix}_expand_conv.weight" in self._weights:
            inside = self.convolution(f"{prefix}_expand_conv", f"{prefix}_bn0", inside)
        inside = self.convolution(f"{prefix}_depthwise_conv", f"{prefix}_bn1", inside, stride=stride, depthwise=True)
        inside = self.convolution(f"{prefix}_project_conv", f"{prefix}_bn2", inside, activate=False)
        if stride == 1 and self._inputs(prefix) == len(self.array(f"{prefix}_project_conv.weight")):
            return self.graph.node("Add", [inside, values])
        return inside

    def convolution(
        self, name: str, norm: str, values: str, *, stride: int = 1, depthwise: bool = False, activate: bool = True
    ) -> str:
        """Convolution with its batch norm folded in, and the activation."""
        weight, bias = self._folded(name, norm)
        values = self.graph.node(
            "Conv",
            [values, self.graph.weight(weight), self.graph.weight(bias)],
            auto_pad="SAME_UPPER",
            group=len(weight) if depthwise else 1,
            kernel_shape=weight.shape[2:],
            strides=(stride, stride),
        )
        if not activate:
            return values
        limits = [self.graph.weight(np.array(v, dtype=np.float32)) for v in (0.0, 6.0)]
        return self.graph.node("Clip", [values, *limits])

    def array(self, name: str) -> FloatArray:
        """A weight by name."""
        try:
            return np.asarray(self._weights[name], dtype=np.float32)
        except KeyError:
            raise InvalidInput(f"the weights hold no {name}: they are not those of EfficientNet-Lite2") from None

    def _folded(self, name: str, norm: str) -> tuple[FloatArray, FloatArray]:
        gain, shift, mean, variance = (
            self.array(f"{norm}.{part}").astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factor = gain / np.sqrt(variance + EPSILON)
        weight = self.array(f"{name}.weight") * factor[:, None, None, None]
        return weight.astype(np.float32), (shift - mean * factor).astype(np.float32)

    def _inputs(self, prefix: str) -> int:
        """Channels that enter a block."""
        if f"{prefix}_expand_conv.weight" in self._weights:
            return int(self.array(f"{prefix}_expand_conv.weight").shape[1])
        return len(self.array(f"{prefix}_depthwise_conv.weight"))
