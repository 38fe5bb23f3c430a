"""EfficientNet-Lite from its weights: what it is made of, and the same as an ONNX graph.

Batch norms are folded into the convolutions before them. Padding is TensorFlow's "same" (more at the bottom and right),
activations are cut at 6, there is no squeeze-and-excitation: that is what makes it the Lite variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

LARGEST = 6.0
"""What an activation is cut at."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """A convolution with its batch norm folded in."""

    weight: FloatArray
    """(channels out, channels in, height, width); one channel in where each is convolved by itself."""
    bias: FloatArray
    stride: int = 1
    depthwise: bool = False
    """Whether each channel is convolved by itself."""
    activate: bool = True
    """Whether what comes out is cut at 0 and at 6."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Widen, convolve each channel by itself, narrow; with a shortcut where the shape stays."""

    convolutions: tuple[Convolution, ...]
    shortcut: bool


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The model from its first convolution to its last, whatever runs it."""

    stem: Convolution
    blocks: tuple[Block, ...]
    head: Convolution


def network_of(weights: Weights, strides: tuple[int, ...] = LITE2_STRIDES) -> Network:
    """The model that the weights are of."""
    return Network(
        _convolution(weights, "_conv_stem", "_bn0", stride=2),
        tuple(_block(weights, f"_blocks.{number}.", stride) for number, stride in enumerate(strides)),
        _convolution(weights, "_conv_head", "_bn1"),
    )


def efficientnet_graph(
    weights: Weights, strides: tuple[int, ...] = LITE2_STRIDES, *, classes: bool = False, block: int | None = None
) -> bytes:
    """The model as an ONNX file.

    Input: `pixels` (batch, height, width, 3), uint8 RGB. Output: `patches` (batch, cells, 1280), the map of the last
    convolution row by row; with `classes` instead the `scores` (batch, 1000) of the ImageNet classes. With `block`,
    `early` (batch, cells, channels) is the map after that block, beside `patches`.
    """
    network, writer = network_of(weights, strides), _Writer()
    graph = writer.graph
    pixels = graph.input("pixels", np.uint8, ("batch", "height", "width", 3))
    values = graph.node("Transpose", [graph.node("Cast", [pixels], to=1)], perm=(0, 3, 1, 2))
    values = graph.node("Sub", [values, graph.weight(np.array(MEAN, dtype=np.float32))])
    values = graph.node("Mul", [values, graph.weight(np.array(1 / SPREAD, dtype=np.float32))])
    values = writer.convolution(network.stem, values)
    for number, own in enumerate(network.blocks):
        values = writer.block(own, values)
        if number == block:
            writer.rows(values, "early", len(own.convolutions[-1].weight))
    values = writer.convolution(network.head, values)
    if classes:
        mean = graph.node("GlobalAveragePool", [values])
        flat = graph.node("Flatten", [mean], axis=1)
        inputs = [flat, *(graph.weight(_array(weights, f"_fc.{part}")) for part in ("weight", "bias"))]
        graph.output(graph.node("Gemm", inputs, out="scores", transB=1), np.float32, ("batch", 1000))
    else:
        writer.rows(values, "patches", CHANNELS)
    return graph.to_bytes()


class _Writer:
    def __init__(self) -> None:
        self.graph = Graph("efficientnet-lite")

    def rows(self, values: str, name: str, channels: int) -> None:
        """An output: a map, cell after cell."""
        flat = self.graph.node("Reshape", [values, self.graph.weight(np.array([0, 0, -1], dtype=np.int64))])
        out = self.graph.node("Transpose", [flat], perm=(0, 2, 1), out=name)
        self.graph.output(out, np.float32, ("batch", f"{name}_cells", channels))

    def block(self, block: Block, values: str) -> str:
        """The convolutions of a block, and its shortcut."""
        inside = values
        for convolution in block.convolutions:
            inside = self.convolution(convolution, inside)
        return self.graph.node("Add", [inside, values]) if block.shortcut else inside

    def convolution(self, own: Convolution, values: str) -> str:
        """A convolution and its activation."""
        values = self.graph.node(
            "Conv",
            [values, self.graph.weight(own.weight), self.graph.weight(own.bias)],
            auto_pad="SAME_UPPER",
            group=len(own.weight) if own.depthwise else 1,
            kernel_shape=own.weight.shape[2:],
            strides=(own.stride, own.stride),
        )
        if not own.activate:
            return values
        limits = [self.graph.weight(np.array(v, dtype=np.float32)) for v in (0.0, LARGEST)]
        return self.graph.node("Clip", [values, *limits])


def _block(weights: Weights, prefix: str, stride: int) -> Block:
    inside = [
        _convolution(weights, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride=stride, depthwise=True),
        _convolution(weights, f"{prefix}_project_conv", f"{prefix}_bn2", activate=False),
    ]
    entering = len(inside[0].weight)
    if f"{prefix}_expand_conv.weight" in weights:
        inside.insert(0, _convolution(weights, f"{prefix}_expand_conv", f"{prefix}_bn0"))
        entering = inside[0].weight.shape[1]
    return Block(tuple(inside), stride == 1 and entering == len(inside[-1].weight))


def _convolution(weights: Weights, name: str, norm: str, **settings: Any) -> Convolution:
    gain, shift, mean, variance = (
        _array(weights, f"{norm}.{part}").astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    factor = gain / np.sqrt(variance + EPSILON)
    weight = _array(weights, f"{name}.weight") * factor[:, None, None, None]
    return Convolution(weight.astype(np.float32), (shift - mean * factor).astype(np.float32), **settings)


def _array(weights: Weights, name: str) -> FloatArray:
    try:
        return np.asarray(weights[name], dtype=np.float32)
    except KeyError:
        raise InvalidInput(f"the weights hold no {name}: they are not those of EfficientNet-Lite2") from None
