"""Which hidden states make up a token's vector."""

from __future__ import annotations

from collections.abc import Sequence

from zipfian.errors import InvalidInput, shown
from zipfian.objects import finite_number

LayerChoice = int | tuple[int, float]
"""A number of blocks (negative: from the end, -1 the last; 0: before the first), or that and a factor."""


def checked_layers(chosen: object, blocks: int) -> tuple[tuple[int, float], ...]:
    """The choice as (number of blocks, factor), for a model with so many blocks."""
    if not isinstance(chosen, Sequence) or isinstance(chosen, str):
        raise InvalidInput(f"layers is a sequence such as (-1,) or ((-2, 0.5), (-1, 1.0)), not {shown(chosen)}")
    if not chosen:
        raise InvalidInput("layers is empty; choose at least one, for instance (-1,) for the last")
    pairs = [_pair(choice) for choice in chosen]
    for layer, factor in pairs:
        if not -blocks <= layer <= blocks:
            raise InvalidInput(f"layer {layer} does not exist: this model has {blocks} blocks (-{blocks} .. {blocks})")
        if factor <= 0:
            raise InvalidInput(f"the factor of layer {layer} is {factor}; it must be a number above 0")
    return tuple((layer if layer >= 0 else blocks + 1 + layer, factor) for layer, factor in pairs)


def _pair(choice: object) -> tuple[int, float]:
    """One choice as a number of blocks and a factor."""
    layer, factor = choice if isinstance(choice, Sequence) and len(choice) == 2 else (choice, 1.0)
    if isinstance(layer, bool) or not isinstance(layer, int) or not finite_number(factor):
        raise InvalidInput(f"a layer is a number of blocks, or that and a factor, not {shown(choice)}")
    return layer, float(factor)
