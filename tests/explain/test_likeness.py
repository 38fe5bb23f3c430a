"""A cosine over the patches of a picture."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.explain.likeness import over_patches


def patch(row: int, strength: float) -> dict[str, float]:
    return {"row": row, "column": 0, "rows": 9, "columns": 9, "strength": strength}


def test_for_against_and_the_rest() -> None:
    places = [patch(0, 0.1), patch(1, -0.2), patch(2, 0.5), patch(3, 0.0), patch(4, -0.3)]
    parts = over_patches(0.15, places, 0.05, "aligned")
    assert parts is not None
    shown = [part for part in parts if part.kind != "correction"]
    assert [part.kind for part in shown] == ["patches", "against", "constant"]
    assert [part.value for part in shown] == [pytest.approx(0.6), pytest.approx(-0.5), 0.05]
    assert [place["row"] for place in shown[0].evidence] == [2, 0], "strongest first"
    assert [place["row"] for place in shown[1].evidence] == [4, 1]
    assert {part.field for part in shown} == {"aligned"}


def test_parts_of_nothing_are_left_out() -> None:
    parts = over_patches(0.5, [patch(0, 0.5)], 0.0, "dense")
    assert parts is not None and [part.kind for part in parts] == ["patches"]


@given(st.lists(st.floats(-1, 1), max_size=30), st.floats(-1, 1), st.floats(-1e-7, 1e-7))
def test_the_parts_sum_to_the_value_to_the_last_bit(strengths: list[float], rest: float, off: float) -> None:
    places = [patch(n, strength) for n, strength in enumerate(strengths)]
    size = math.fsum(map(abs, strengths)) + abs(rest)
    value = math.fsum(strengths) + rest + off * size
    parts = over_patches(value, places, rest, "aligned")
    assert parts is not None and {part.field for part in parts} <= {"aligned"}, "corrections are the field's own"
    total = 0.0
    for part in parts:
        total += part.value
        if part.evidence:
            assert part.value == pytest.approx(math.fsum(place["strength"] for place in part.evidence), abs=1e-12)
    assert total == value


def test_patches_of_another_picture_are_not_shown() -> None:
    assert over_patches(0.5, [patch(0, 0.4)], 0.0, "aligned") is None
