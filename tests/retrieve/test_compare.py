"""Comparisons of columns with one value, against exact fractions: also where a float cannot hold the integer."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.index.terms import WordTerms, make_terms
from zipfian.retrieve._compare import compare_numbers, is_one_of, matching_words

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
INTEGERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]),
)
FLOATS = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2.5, -2.5, 2.0**53, -(2.0**53), 2.0**53 + 2, 2.0**63]),
)
BOUNDS = st.one_of(INTEGERS, FLOATS, st.sampled_from([2**53 + 1, 2**63, -(2**63) - 1, 10**400, -(10**400)]))


@given(st.one_of(st.lists(INTEGERS), st.lists(FLOATS)), BOUNDS, st.sampled_from(list(OPERATORS)))
def test_as_real_numbers(values: list[int] | list[float], bound: int | float, op: str) -> None:
    column = np.array(values, np.int64 if all(isinstance(v, int) for v in values) else np.float64)
    for also in (bound, *values):  # equal values are rare by chance
        wanted = [OPERATORS[op](Fraction(v), Fraction(also)) for v in values]
        assert compare_numbers(column, op, also).tolist() == wanted


@given(st.one_of(st.lists(INTEGERS), st.lists(FLOATS)), st.lists(BOUNDS))
def test_equal_as_real_numbers(values: list[int] | list[float], wanted: list[int | float]) -> None:
    column = np.array(values, np.int64 if all(isinstance(v, int) for v in values) else np.float64)
    for asked in (wanted, values[:1]):
        exact = {Fraction(w) for w in asked}
        assert is_one_of(column, asked).tolist() == [Fraction(v) in exact for v in values]


@pytest.mark.parametrize("op", list(OPERATORS))
@pytest.mark.parametrize("bound", [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 10**400, -(10**400)])
def test_integers_that_lie_between_two_floats(op: str, bound: int) -> None:
    """2**53 + 1 becomes the float below it, 2**53 + 3 the one above: neither is equal to what it stands for."""
    values = [sign * (2.0**53 + step) for sign in (1, -1) for step in (-1, 0, 2, 4)]
    for asked in (bound, -bound):
        wanted = [OPERATORS[op](Fraction(v), Fraction(asked)) for v in values]
        assert compare_numbers(np.array(values), op, asked).tolist() == wanted


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_ends_of_all_numbers(dtype: type) -> None:
    column: Any = np.array([-3, 0, 7], dtype)
    for op in OPERATORS:
        below = op in ("<", "<=")
        assert compare_numbers(column, op, math.inf).tolist() == [below] * 3
        assert compare_numbers(column, op, -math.inf).tolist() == [not below] * 3


@pytest.mark.parametrize("op", list(OPERATORS))
@pytest.mark.parametrize("word", ["", "a", "ab", "abc", "b", "é", "zz", "zzz"])
def test_words_on_one_side(op: str, word: str) -> None:
    words = ["a", "ab", "b", "zz", "é"]  # by their bytes, as they are stored
    stored = make_terms(words)
    assert isinstance(stored, WordTerms)
    wanted = [OPERATORS[op](w.encode(), word.encode()) for w in words]
    assert matching_words(stored, op, [word]).tolist() == wanted


def test_words_by_name() -> None:
    stored = make_terms(["a", "ab", "b"])
    assert isinstance(stored, WordTerms)
    assert matching_words(stored, "in", ["b", "a", "missing"]).tolist() == [True, False, True]
