"""Weights in fixed steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.vocabulary import check_weights, to_fixed


def test_hundredths() -> None:
    fixed = to_fixed(np.array([0.0, 0.004, 0.006, 0.15, 1.0, 655.35, 655.36, 1e6], dtype=np.float32), 100.0)
    assert fixed.steps.tolist() == [0, 0, 1, 15, 100, 65_535, 65_535, 65_535]
    assert fixed.steps.dtype == np.uint32
    assert (fixed.clipped, fixed.zeroed) == (2, 1)


def test_counts_are_exact_at_scale_one() -> None:
    fixed = to_fixed(np.arange(1, 1_000, dtype=np.uint32), 1)
    assert fixed.steps.tolist() == list(range(1, 1_000))
    assert (fixed.clipped, fixed.zeroed) == (0, 0)


@given(st.lists(st.floats(0, 600, width=32)), st.sampled_from([1.0, 10.0, 100.0]))
def test_error_is_at_most_half_a_step(weights: list[float], scale: float) -> None:
    fixed = to_fixed(np.array(weights, dtype=np.float32), scale)
    assert (np.abs(fixed.steps / scale - np.array(weights)) <= 0.5 / scale + 1e-9).all()
    assert fixed.clipped == 0
    assert fixed.zeroed == sum(w > 0 and s == 0 for w, s in zip(weights, fixed.steps, strict=True))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), -1.0])
def test_weights_no_score_can_be_made_of(bad: float) -> None:
    with pytest.raises(InvalidInput, match="weight 1 is"):
        to_fixed(np.array([1.0, bad, 2.0]), 100.0)


def test_other_bad_input() -> None:
    with pytest.raises(LimitExceeded):
        check_weights(np.array([1e7]))
    with pytest.raises(InvalidInput, match="numbers"):
        check_weights(np.array(["a"]))  # type: ignore[arg-type]
    check_weights(np.array([], dtype=np.float32))


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), "100", True])
def test_bad_scales(scale: Any) -> None:
    with pytest.raises(InvalidInput, match="scale"):
        to_fixed(np.ones(1), scale)
