"""Values out of JSON that somebody else wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pytest

from zipfian.errors import FormatTooNew, InvalidInput, shown
from zipfian.objects import JsonObject, finite_number, inner, plain

DIGITS = re.compile("[0-9]+")


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (lambda f: f.whole("x", 1, 9), [1, 9], [0, 10, True, 1.0, "1", None, [], 10**400, float("nan")]),
        (lambda f: f.number("x", 0, 2), [0, 2, 0.5], [-0.1, 2.1, False, "1", None, float("nan"), float("inf")]),
        (lambda f: f.number("x"), [-1e308], [10**400, float("-inf")]),
        (lambda f: f.text("x", 3), ["a", "abc", "é"], ["", "abcd", "a\n", "\x1b[2", "a\0", 1, None, ["a"]]),
        (lambda f: f.string("x", 3), ["", "a\nb"], ["abcd", 1, None]),
        (lambda f: f.flag("x"), [True, False], [0, 1, "true", None]),
        (lambda f: f.choice("x", ("sum", "max")), ["sum"], ["su", "", None, 1, ["sum"], {"sum": 1}]),
        (lambda f: f.match("x", DIGITS), ["12"], ["1a", "12\n", 12, None]),
        (lambda f: f.items("x", 2), [[], [1, 2]], [[1, 2, 3], {}, "ab", None]),
        (lambda f: f.mapping("x", 1), [{}, {"a": 1}], [{"a": 1, "b": 2}, [], None]),
        (lambda f: f.row("x", 2).whole("1", 0, 5), [[0, 5]], [[0], [0, 1, 2], "ab", {"0": 0, "1": 1}, None]),
        (lambda f: f.object("x").end(), [{}], [{"a": 1}, [], None, "x"]),
    ],
)
def test_a_value_has_its_type_and_range(read: Callable[[JsonObject], Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        found = JsonObject({"x": value}, "the thing")
        read(found)
        found.end()
    for value in bad:
        with pytest.raises(InvalidInput, match="the thing"):
            read(JsonObject({"x": value}, "the thing"))
    with pytest.raises(InvalidInput, match="the thing: 'x' is missing"):
        read(JsonObject({}, "the thing"))


def test_numbers_come_back_as_what_they_are() -> None:
    found = JsonObject({"a": 3, "b": 3, "c": [[1, "x"], [2, "y"]]}, "it")
    assert (found.whole("a", 0, 5), type(found.number("b"))) == (3, float)
    assert [(row.whole("0", 0, 9), row.text("1")) for row in found.rows("c", 2, 5)] == [(1, "x"), (2, "y")]


def test_what_nobody_takes_is_refused() -> None:
    found = JsonObject({"a": 1, "\x1b[2J": 2}, "it")
    found.whole("a", 0, 5)
    with pytest.raises(InvalidInput, match=r"it: unknown '\\x1b\[2J'"):
        found.end()
    with pytest.raises(InvalidInput, match="unknown 'b'"):
        JsonObject({"a": 1, "b": 2}, "it").rest(["a"])
    assert JsonObject({"a": 1}, "it").rest(["a", "b"]) == {"a": 1}
    with pytest.raises(InvalidInput, match=r"an object was expected, not \[1, 2\]"):
        JsonObject([1, 2], "it")


def test_null_is_as_good_as_nothing_where_a_value_may_be_missing() -> None:
    found = JsonObject({"a": None, "b": 0}, "it")
    assert (found.has("a"), found.has("b"), found.has("c")) == (False, True, False)
    found.whole("b", 0, 0)
    found.end()


def test_versions() -> None:
    assert JsonObject({"version": 2}, "it").version(2) == 2
    with pytest.raises(FormatTooNew, match=r"it: written by a newer zipfian \(version 3\)"):
        JsonObject({"version": 3}, "it").version(2)
    for wrong in (0, -1, True, "1", None, 1.0, 3.0):
        with pytest.raises(InvalidInput):
            JsonObject({"version": wrong}, "it").version(2)


def test_objects_inside_objects() -> None:
    tree = {"a": {"b": {"c": 1}, "n": None, "w": 3}}
    assert inner(tree, "a", "b") == {"c": 1}
    assert inner(tree, "a", "n", "deeper") == inner(tree, "x") == {}
    with pytest.raises(InvalidInput, match="'w' of the settings must be an object, not 3"):
        inner(tree, "a", "w")


def test_messages_stay_short_and_plain() -> None:
    assert shown("\x1b]52;\u202e") == r"'\x1b]52;\u202e'"
    assert len(shown("x" * 10**6)) <= 80
    assert shown(10**5000) == f"a number of {(10**5000).bit_length()} bits"
    assert shown({"a": 1}) == "{'a': 1}"
    assert [finite_number(v) for v in (1, 1.5, True, 10**400, float("inf"), "1")] == [True, True, *[False] * 4]


def test_plain_values_are_json() -> None:
    given = {1: (float("nan"), np.float64("inf"), np.float32(0.5), np.int64(3)), "d": date(2024, 1, 31), "n": None}
    assert plain(given) == {"1": [None, None, 0.5, 3], "d": "2024-01-31", "n": None}
    assert plain(np.array([[1.0, np.nan], [True, 2.0]])) == [[1.0, None], [1.0, 2.0]]
