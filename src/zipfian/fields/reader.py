"""What a field takes of an encoder's pass over a document: arrays that a cache can keep, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from zipfian.fields.item import Item
from zipfian.storage.packed import Array
from zipfian.types import Encoded

POOLED = "pooled"

Arrays = Mapping[str, Array]
Maker = Callable[[Encoded], Arrays]


@dataclass(frozen=True, slots=True)
class Reader:
    """One field that reads an encoder: which arrays it needs of an item, and what it makes of them."""

    makers: Mapping[str, Maker]
    """By the name that the arrays have in the cache."""
    give: Callable[[Item, Mapping[str, Arrays]], None]
    """Puts terms or a vector into the item."""
    token_bytes: int = 0
    """Of the cache for each token of an item, about; for estimates."""


def pooled_arrays(encoded: Encoded) -> Arrays:
    """The pooled vector alone, as the cache keeps it."""
    return {POOLED: encoded.pooled}


def unit(vector: Array) -> Array:
    """The vector brought to length 1, so that a dot product is the cosine; zeros stay zeros."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return (vector / length).astype(np.float32) if length > 0 else vector.astype(np.float32)
