"""The network of the multilingual Universal Sentence Encoder as an ONNX graph, and its table of pieces.

Yang et al., Multilingual Universal Sentence Encoder for Semantic Retrieval (ACL 2020), the convolutional variant: three
branches look at 2, 3 and 5 neighbouring pieces, twice each; what they saw is joined with the piece's own embedding, and
the states of all pieces, added up, go through four residual layers. Each branch normalises its own 256 numbers, as the
published graph does. The package that carries the weights normalises the 768 of all three together: its vectors have
cosines of .98 to .998 with these and find a little less.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from zipfian.encode.onnx import Graph
from zipfian.types import FloatArray

WIDTH = 512
TOKENS, POOLED = "token_states", "pooled"
"""Outputs of the graph."""

CHUNKS = 17
"""Parts of the embedding table: row r of part c is the piece r * 17 + c."""
BRANCHES = ((2, 0), (3, 1), (5, 2))
"""Pieces that a branch sees at once, and how many of them are before its own."""
EPSILON = 1e-12
_TO_THE_END = np.iinfo(np.int64).max

Arrays = Mapping[str, npt.NDArray[np.generic]]


class PieceTable:
    """The embeddings of all pieces: six bits a number, and one scale and one offset for each of 17 parts."""

    def __init__(self, arrays: Arrays) -> None:
        rows = arrays["q1"].shape[0]
        self._steps: npt.NDArray[np.uint8] = np.empty((rows * CHUNKS, WIDTH), dtype=np.uint8)
        for part in range(CHUNKS):
            self._steps[part::CHUNKS] = arrays[f"q{part + 1}"]
        self._scale = np.asarray(arrays["scale"], dtype=np.float32)
        self._lowest = np.asarray(arrays["lo"], dtype=np.float32)

    def __getitem__(self, pieces: npt.NDArray[np.int32]) -> FloatArray:
        """The vectors of pieces: one more dimension, 512 wide."""
        part = pieces % CHUNKS
        out = self._steps[pieces].astype(np.float32)
        out *= self._scale[part, None]
        out += self._lowest[part, None]
        return out


def read_arrays(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Every array of the weights file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def use_graph(arrays: Arrays) -> bytes:
    """The network as an ONNX file.

    One text at a time: a batch of several would gain nothing for texts of usual length (a fifth for the shortest), and
    onnxruntime adds one row up in another order than several, so that vectors would depend on the batch.

    Inputs: `embeddings` (tokens, 512), and `share` (1): one over the square root of the number of tokens. Outputs: the
    states of the tokens (tokens, 512), whose sum times `share` enters the residual layers, and what comes out of these
    (1, 512), not yet of length 1.
    """
    return _Use(arrays).build()


class _Use:
    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._graph = Graph("use")

    def build(self) -> bytes:
        """All of it."""
        graph = self._graph
        embeddings = graph.input("embeddings", np.float32, ("tokens", WIDTH))
        share = graph.input("share", np.float32, (1,))
        seen = [self._branch(embeddings, size, before) for size, before in BRANCHES]
        joined = self._norm(graph.node("Concat", [embeddings, *seen], axis=-1), "ln_g", "ln_b")
        states = graph.node("Add", [self._times(joined, "cnn_W"), self._weight("cnn_b")], out=TOKENS)
        graph.output(states, np.float32, ("tokens", WIDTH))
        total = graph.node("ReduceSum", [states, self._whole(0)], keepdims=1)
        self._residual(graph.node("Mul", [total, share]))
        graph.output(POOLED, np.float32, (1, WIDTH))
        return graph.to_bytes()

    def _branch(self, embeddings: str, size: int, before: int) -> str:
        """Two convolutions over `size` pieces, each with what went into it added."""
        graph = self._graph
        own = graph.node("Add", [self._times(embeddings, f"proj{size}"), self._weight(f"proj_b{size}")])
        hidden = self._norm(own, f"ln_g{size}", f"ln_b{size}")
        for layer in ("1", "2"):
            near = graph.node("Concat", self._neighbours(hidden, size, before), axis=-1)
            product = self._times(near, f"w{layer}_{size}")
            new = graph.node("Relu", [graph.node("Add", [product, self._weight(f"b{layer}_{size}")])])
            hidden = graph.node("Add", [new, hidden])
        return hidden

    def _neighbours(self, hidden: str, size: int, before: int) -> list[str]:
        """The states moved by each distance that a branch sees, zeros beyond the ends."""
        graph, after = self._graph, size - 1 - before
        padded = graph.node("Pad", [hidden, self._whole(before, 0, after, 0)])
        ends = [place - (size - 1) or _TO_THE_END for place in range(size)]
        return [
            graph.node("Slice", [padded, self._whole(place), self._whole(end), self._whole(0)])
            for place, end in enumerate(ends)
        ]

    def _residual(self, total: str) -> None:
        """Four layers over the sum."""
        graph = self._graph
        first = graph.node("Relu", [self._times(total, "d0")])
        second = graph.node("Relu", [graph.node("Add", [self._times(total, "p1"), self._times(first, "d1")])])
        third = graph.node("Relu", [self._times(second, "d2")])
        fourth = graph.node("Add", [self._times(second, "p3"), self._times(third, "d3")])
        graph.node("Tanh", [fourth], out=POOLED)

    def _times(self, value: str, name: str) -> str:
        return self._graph.node("MatMul", [value, self._weight(name)])

    def _norm(self, value: str, scale: str, offset: str) -> str:
        inputs = [value, self._weight(scale), self._weight(offset)]
        return self._graph.node("LayerNormalization", inputs, axis=-1, epsilon=EPSILON)

    def _weight(self, name: str) -> str:
        return self._graph.weight(self._arrays[name])

    def _whole(self, *numbers: int) -> str:
        return self._graph.weight(np.array(numbers, dtype=np.int64))
