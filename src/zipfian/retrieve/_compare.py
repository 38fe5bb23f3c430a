"""Exact comparisons of whole columns with one value: no integer is rounded to a float on the way."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index.terms import WordTerms

Bools = npt.NDArray[np.bool_]

_INT64 = range(-(2**63), 2**63)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare_numbers(values: npt.NDArray[Any], op: str, bound: int | float) -> Bools:
    """`values op bound` for int64 or float64 values, as if both sides were real numbers."""
    if isinstance(bound, float) and math.isinf(bound):
        return np.full(len(values), (bound > 0) == (op in ("<", "<=")), np.bool_)
    if values.dtype.kind == "f":
        return _compare_floats(values, op, bound)
    # An integer is below 2.5 exactly if it is below 3, and at most 2.5 exactly if it is at most 2.
    whole = math.ceil(bound) if op in ("<", ">=") else math.floor(bound)
    if whole not in _INT64:
        return np.full(len(values), (whole > 0) == (op in ("<", "<=")), np.bool_)
    return np.asarray(_COMPARE[op](values, np.int64(whole)), np.bool_)


def is_one_of(values: npt.NDArray[Any], wanted: Sequence[int | float]) -> Bools:
    """Which of the int64 or float64 values equal one of the wanted numbers."""
    if values.dtype.kind == "f":
        exact = [float(w) for w in wanted if _near(w) == w]
        return np.isin(values, np.array(exact, np.float64))
    whole = [int(w) for w in wanted if not (isinstance(w, float) and not w.is_integer()) and int(w) in _INT64]
    return np.isin(values, np.array(whole, np.int64))


def matching_words(words: WordTerms, op: str, wanted: Sequence[str]) -> Bools:
    """Which words of a sorted dictionary equal one of the wanted ones, or lie on the right side of the one given."""
    found = np.zeros(len(words), np.bool_)
    if op == "in":
        for word in wanted:
            at = words.lookup(word)
            if at >= 0:
                found[at] = True
        return found
    key = wanted[0].encode("utf-8", "surrogatepass")
    if op in ("<", ">="):  # words before the first that is >= key
        cut = words.position(key)
    else:  # words before the first that is > key
        cut = words.position(key + b"\0")
    if op in ("<", "<="):
        found[:cut] = True
    else:
        found[cut:] = True
    return found


def _compare_floats(values: npt.NDArray[Any], op: str, bound: int | float) -> Bools:
    near = _near(bound)
    # The float nearest to an integer may lie beside it; then `<` and `<=` mean the same, and so do `>` and `>=`.
    if near < bound:
        op = {"<": "<=", ">=": ">"}.get(op, op)
    elif near > bound:
        op = {"<=": "<", ">": ">="}.get(op, op)
    return np.asarray(_COMPARE[op](values, near), np.bool_)


def _near(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
