"""Real-valued weights as small integers: value x scale, rounded and clipped to 16 bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.objects import finite_number


class Fixed(NamedTuple):
    """Quantised weights and what quantisation lost.

    Examples
    --------
    >>> to_fixed(np.array([0.001, 1.0, 900.0]), scale=100.0)
    Fixed(steps=array([    0,   100, 65535], dtype=uint32), clipped=1, zeroed=1)
    """

    steps: npt.NDArray[np.uint32]
    """Multiples of 1/scale, 0 to 65,535; an entry of 0 is no posting."""
    clipped: int
    """Weights that were above the largest step."""
    zeroed: int
    """Weights above 0 that became 0."""


def check_weights(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer]) -> None:
    """Refuse weights no score can be made of, naming the first of them.

    Parameters
    ----------
    weights
        Of any shape.

    Raises
    ------
    InvalidInput
        A weight that is negative, not finite, or no number.
    LimitExceeded
        A weight over `limits.MAX_WEIGHT`.

    Examples
    --------
    >>> check_weights(np.array([1.0, -2.0]))
    Traceback (most recent call last):
    zipfian.errors.InvalidInput: weights must be finite and not negative: weight 1 is -2.0
    """
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
    most = limits.MAX_SCALE
    if not finite_number(scale) or not 1 / most <= scale <= most:
        raise InvalidInput(f"scale must be a number from {1 / most:g} to {most:g}, not {shown(scale)}")


def to_fixed(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer], scale: float) -> Fixed:
    """Weights as whole steps, rounded half to even.

    Parameters
    ----------
    weights
        Finite and not negative.
    scale
        Steps of a weight of 1.

    Returns
    -------
    Fixed
        The steps, and how many weights were clipped or became 0.

    Raises
    ------
    InvalidInput
        Weights no score can be made of, or a scale that is not above 0.

    Examples
    --------
    >>> to_fixed(np.array([0.25, 1.0]), scale=100.0).steps.tolist()
    [25, 100]
    """
    check_weights(weights)
    check_scale(scale)
    return fixed_steps(weights, scale)


def fixed_steps(weights: npt.NDArray[np.floating] | npt.NDArray[np.integer], scale: float) -> Fixed:
    """As `to_fixed`, for weights and a scale that were checked before."""
    exact = np.rint(weights.astype(np.float64) * scale)
    low, high = np.minimum.reduce(exact, axis=None, initial=1.0), np.maximum.reduce(exact, axis=None, initial=0.0)
    if low > 0.0 and high <= limits.MAX_FIXED_STEPS:  # nearly always: nothing is lost
        return Fixed(exact.astype(np.uint32), 0, 0)
    steps = np.minimum(exact, limits.MAX_FIXED_STEPS).astype(np.uint32)
    return Fixed(
        steps=steps,
        clipped=int(np.count_nonzero(exact > limits.MAX_FIXED_STEPS)),
        zeroed=int(np.count_nonzero((steps == 0) & (weights > 0))),
    )
