"""Which hidden states make up a token's vector."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zipfian.errors import InvalidInput

LayerChoice = int | tuple[int, float]
"""A number of blocks (negative: from the end, -1 the last; 0: before the first), or that and a factor."""


def checked_layers(chosen: Sequence[LayerChoice], blocks: int) -> tuple[tuple[int, float], ...]:
    """The choice as (number of blocks, factor), for a model with so many blocks."""
    if not chosen:
        raise InvalidInput("layers is empty; choose at least one, for instance (-1,) for the last")
    pairs = [(c, 1.0) if isinstance(c, int) else (c[0], float(c[1])) for c in chosen]
    for layer, factor in pairs:
        if not -blocks <= layer <= blocks:
            raise InvalidInput(f"layer {layer} does not exist: this model has {blocks} blocks (-{blocks} .. {blocks})")
        if not (math.isfinite(factor) and factor > 0):
            raise InvalidInput(f"the factor of layer {layer} is {factor}; it must be a number above 0")
    return tuple((layer if layer >= 0 else blocks + 1 + layer, factor) for layer, factor in pairs)
