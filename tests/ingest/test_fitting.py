"""Values of many writers under the types of one collection."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from zipfian.ingest.fitting import Fitting


@pytest.mark.parametrize(
    ("kind", "value", "fitted"),
    [
        ("string", 7, "7"),
        ("string", True, "true"),
        ("string", date(2024, 5, 1), "2024-05-01"),
        ("string", ["a", 1], ["a", 1]),
        ("string", ["a", "b"], "a, b"),
        ("integer", "12", 12),
        ("integer", "late", None),
        ("integer", [3], 3),
        ("integer", [3, 4], None),
        ("date", "2024-05-01", date(2024, 5, 1)),
        ("boolean", 1, None),
        ("list[string]", "a", ["a"]),
        ("list[integer]", "4", [4]),
        ("list[integer]", ["4", "x"], None),
        ("list[integer]", "x", None),
    ],
)
def test_one_value(kind: str, value: Any, fitted: Any) -> None:
    fitting = Fitting({"c": kind})
    assert fitting.fit({"c": value}) == ({} if fitted is None else {"c": fitted})
    assert fitting.left_out == ({"c": 1} if fitted is None else {})


def test_the_first_of_a_run_says_the_type() -> None:
    fitting = Fitting({})
    assert [fitting.fit({"n": value}) for value in (1, 2.5, "3", "x")] == [{"n": 1}, {"n": 2.5}, {"n": 3.0}, {}]
