"""The activation transform phi of a weight: a power between 0 and 1, by name or number."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, shown

_NAMED = {"identity": 1.0, "sqrt": 0.5}


def parse_phi(phi: Any) -> float:
    """An activation transform as an exponent: 'identity' = 1, 'sqrt' = 0.5, 'power:0.7' or a number in (0, 1].

    >>> parse_phi("power:0.7")
    0.7
    """
    if isinstance(phi, str):
        value: Any
        try:
            value = _NAMED[phi] if phi in _NAMED else float(phi.removeprefix("power:"))
        except ValueError:
            raise InvalidInput(f"phi must be 'identity', 'sqrt', 'power:P' or a number, not {shown(phi)}") from None
    elif isinstance(phi, Real) and phi is not True:
        value = phi
    else:
        raise InvalidInput(f"phi must be 'identity', 'sqrt', 'power:P' or a number, not {shown(phi)}")
    if not 0.0 < value <= 1.0:
        raise InvalidInput(f"the exponent of phi must lie in (0, 1], not {shown(value)}")
    return float(value)


def phi_name(phi: str | float) -> str:
    """The canonical name of an activation transform, as stored in files."""
    value = parse_phi(phi)
    return {exponent: name for name, exponent in _NAMED.items()}.get(value, f"power:{value!r}")


def apply_phi(weights: npt.NDArray[np.float64], phi: str | float) -> npt.NDArray[np.float64]:
    """phi of each weight (weights are > 0)."""
    exponent = parse_phi(phi)
    if exponent == 1.0:
        return weights
    return np.sqrt(weights) if exponent == 0.5 else np.power(weights, exponent)
