"""Real-valued weights as small integers: value x scale, rounded and clipped to 16 bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.fields import finite_number, shown


class Fixed(NamedTuple):
    """Quantised weights and what quantisation lost."""

    steps: npt.NDArray[np.uint32]
    """Multiples of 1/scale, 0 to 65,535; an entry of 0 is no posting."""
    clipped: int
    """Weights that were above the largest step."""
    zeroed: int
    """Weights above 0 that became 0."""


def check_weights(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer]) -> None:
    """Refuse weights no score can be made of, naming the first of them."""
    if weights.dtype.kind not in "fiu":
        raise InvalidInput(f"weights must be numbers, not an array of {weights.dtype}")
    if weights.size and weights.min() >= 0 and weights.max() <= limits.MAX_WEIGHT:  # false for anything with a NaN
        return
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        place = int(np.argmin(good))
        raise InvalidInput(f"weights must be finite and not negative: weight {place} is {weights.flat[place]}")
    if weights.size and weights.max() > limits.MAX_WEIGHT:
        raise LimitExceeded(f"a weight of {weights.max():g} is over the limit of {limits.MAX_WEIGHT:g}: rescale them")


def check_scale(scale: float) -> None:
    """A scale is the number of steps in a weight of 1."""
    if not finite_number(scale) or scale <= 0:
        raise InvalidInput(f"scale must be a finite number above 0, not {shown(scale)}")


def to_fixed(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer], scale: float) -> Fixed:
    """Weights in steps of 1/scale (rounded half to even), with counts of what was clipped or lost."""
    check_weights(weights)
    check_scale(scale)
    return fixed_steps(weights, scale)


def fixed_steps(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer], scale: float) -> Fixed:
    """As `to_fixed`, for weights and a scale that were checked before."""
    exact = np.rint(weights.astype(np.float64) * scale)
    steps = np.minimum(exact, limits.MAX_FIXED_STEPS).astype(np.uint32)
    return Fixed(
        steps=steps,
        clipped=int(np.count_nonzero(exact > limits.MAX_FIXED_STEPS)),
        zeroed=int(np.count_nonzero((steps == 0) & (weights > 0))),
    )
