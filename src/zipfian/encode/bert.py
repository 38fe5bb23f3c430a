"""The BERT encoder as an ONNX graph, written from its weights.

There is no attention mask because there is no padding: a batch holds token sequences of one length. That is faster than
masking, and an item's numbers cannot depend on its neighbours. Attention and bias + GELU (the exact one, with erf) are
onnxruntime's fused operators, so its own fusions are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zipfian.encode.onnx import CONTRIB, Graph
from zipfian.errors import InvalidInput

Weights = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes that the weights do not tell."""

    layers: int
    heads: int
    epsilon: float = 1e-12


def output_name(layer: int) -> str:
    """Name of the hidden states after `layer` blocks; 0 is what enters the first."""
    return f"hidden_{layer}"


def bert_graph(weights: Weights, shape: BertShape, outputs: Sequence[int]) -> bytes:
    """The model as an ONNX file.

    Inputs: `pieces` (batch, tokens) and `positions` (tokens), both int32. Outputs: for each layer in `outputs` the
    hidden states (batch, tokens, width) after so many blocks.
    """
    writer = _Bert(weights, shape)
    hidden = writer.embeddings()
    for layer in range(shape.layers + 1):
        if layer:
            hidden = writer.block(layer, hidden)
        if layer in outputs:
            writer.graph.output(hidden, np.float32, ("batch", "tokens", writer.width))
    return writer.graph.to_bytes()


class _Bert:
    def __init__(self, weights: Weights, shape: BertShape) -> None:
        self.graph = Graph("bert")
        self._weights = weights
        self._shape = shape
        self.width = self._array("embeddings.LayerNorm.weight").shape[0]

    def embeddings(self) -> str:
        """Word piece + position + sentence 0, normalised."""
        graph = self.graph
        pieces = graph.input("pieces", np.int32, ("batch", "tokens"))
        positions = graph.input("positions", np.int32, ("tokens",))
        words = graph.node("Gather", [graph.weight(self._array("embeddings.word_embeddings.weight")), pieces])
        fixed = self._array("embeddings.position_embeddings.weight")
        fixed = fixed + self._array("embeddings.token_type_embeddings.weight")[0]
        places = graph.node("Gather", [graph.weight(fixed), positions])
        return graph.node(
            "LayerNormalization",
            [graph.node("Add", [words, places]), *self._norm("embeddings.LayerNorm")],
            out=output_name(0),
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def block(self, layer: int, hidden: str) -> str:
        """One transformer block: attention, then a layer of 4 x the width, each with residual and norm."""
        graph, prefix = self.graph, f"encoder.layer.{layer - 1}."
        parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._array(f"{part}.weight").T for part in parts], axis=1)
        bias = np.concatenate([self._array(f"{part}.bias") for part in parts])
        mixed = graph.node(
            "Attention",
            [hidden, graph.weight(weight), graph.weight(bias)],
            domain=CONTRIB,
            num_heads=self._shape.heads,
        )
        hidden = self._joined(f"{prefix}attention.output", mixed, hidden)
        wide = graph.node(
            "BiasGelu",
            [self._product(f"{prefix}intermediate.dense", hidden), self._bias(f"{prefix}intermediate.dense")],
            domain=CONTRIB,
        )
        return self._joined(f"{prefix}output", wide, hidden, output_name(layer))

    def _joined(self, name: str, value: str, hidden: str, out: str = "") -> str:
        """norm(value W + b + hidden).

        onnxruntime's operator for all of it (SkipLayerNormalization) is slower on processors than these three.
        """
        graph = self.graph
        value = graph.node("Add", [self._product(f"{name}.dense", value), self._bias(f"{name}.dense")])
        value = graph.node("Add", [value, hidden])
        return graph.node(
            "LayerNormalization",
            [value, *self._norm(f"{name}.LayerNorm")],
            out=out,
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _product(self, name: str, value: str) -> str:
        return self.graph.node("MatMul", [value, self.graph.weight(self._array(f"{name}.weight").T)])

    def _bias(self, name: str) -> str:
        return self.graph.weight(self._array(f"{name}.bias"))

    def _norm(self, name: str) -> tuple[str, str]:
        return self.graph.weight(self._array(f"{name}.weight")), self._bias(name)

    def _array(self, name: str) -> npt.NDArray[np.float32]:
        return weight_of(self._weights, name)


def weight_of(weights: Weights, name: str) -> npt.NDArray[np.float32]:
    """The tensor called `name`."""
    try:
        return weights[name]
    except KeyError:
        raise InvalidInput(f"the weights hold no {name}: they are not those of a BERT encoder") from None
