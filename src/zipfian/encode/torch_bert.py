"""The BERT encoder in torch, from the weights that `bert.py` writes its graph of: the same network on a GPU.

Rows of a batch may have different lengths; what fills them up is masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zipfian.device import Precision, load_torch
from zipfian.encode.bert import BertShape, Weights, weight_of


class TorchBert:
    """Weights on a device, in the precision of its products."""

    def __init__(self, weights: Weights, shape: BertShape, device: Any, precision: Precision) -> None:
        self._torch = load_torch("a text encoder on a GPU")
        self._shape = shape
        self.device = device
        self.dtype = getattr(self._torch, precision)
        self.width = int(weight_of(weights, "embeddings.LayerNorm.weight").shape[0])
        self._words = self._put(weight_of(weights, "embeddings.word_embeddings.weight"))
        places = weight_of(weights, "embeddings.position_embeddings.weight")
        self._places = self._put(places + weight_of(weights, "embeddings.token_type_embeddings.weight")[0])
        self.positions = len(self._places)
        """The longest row that it can take."""
        self._norm = self._pair(weights, "embeddings.LayerNorm")
        self._blocks = [self._block(weights, f"encoder.layer.{number}.") for number in range(shape.layers)]

    def run(self, pieces: Any, lengths: Any | None, outputs: Sequence[int]) -> dict[int, Any]:
        """Hidden states (rows, tokens, width) after so many blocks, for each number in `outputs`.

        `pieces` is (rows, tokens); of row i only the first `lengths[i]` are looked at, all where there are none.
        """
        functions = self._torch.nn.functional
        rows, tokens = pieces.shape
        mask = None
        if lengths is not None:
            mask = (self._torch.arange(tokens, device=self.device) < lengths[:, None])[:, None, None, :]
        hidden = self._normed(self._words[pieces] + self._places[:tokens], self._norm)
        found = {0: hidden} if 0 in outputs else {}
        for number, block in enumerate(self._blocks, start=1):
            parts = functions.linear(hidden, *block["attention"])
            query, key, value = parts.view(rows, tokens, 3, self._shape.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = functions.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            mixed = functions.linear(mixed.transpose(1, 2).reshape(rows, tokens, self.width), *block["joined"])
            hidden = self._normed(mixed + hidden, block["joined_norm"])
            wide = functions.gelu(functions.linear(hidden, *block["wide"]))
            hidden = self._normed(functions.linear(wide, *block["narrow"]) + hidden, block["narrow_norm"])
            if number in outputs:
                found[number] = hidden
            if number == max(outputs):
                break
        return found

    def _block(self, weights: Weights, prefix: str) -> dict[str, tuple[Any, Any]]:
        parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        return {
            "attention": (
                self._put(np.concatenate([weight_of(weights, f"{part}.weight") for part in parts])),
                self._put(np.concatenate([weight_of(weights, f"{part}.bias") for part in parts])),
            ),
            "joined": self._pair(weights, f"{prefix}attention.output.dense"),
            "joined_norm": self._pair(weights, f"{prefix}attention.output.LayerNorm"),
            "wide": self._pair(weights, f"{prefix}intermediate.dense"),
            "narrow": self._pair(weights, f"{prefix}output.dense"),
            "narrow_norm": self._pair(weights, f"{prefix}output.LayerNorm"),
        }

    def _pair(self, weights: Weights, name: str) -> tuple[Any, Any]:
        return self._put(weight_of(weights, f"{name}.weight")), self._put(weight_of(weights, f"{name}.bias"))

    def _put(self, array: Any) -> Any:
        return self._torch.tensor(np.ascontiguousarray(array), dtype=self.dtype, device=self.device)

    def _normed(self, values: Any, pair: tuple[Any, Any]) -> Any:
        return self._torch.nn.functional.layer_norm(values, (self.width,), *pair, self._shape.epsilon)
