"""The page's own functions, called in the browser with values worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.page.conftest import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def call(visit: Visit) -> Any:
    """`call("format", "score", 1.5)`: a function of a module of `lib/`."""
    page: Page = visit(".welcome", c="texts")
    run = "async ([name, what, given]) => (await import(`/lib/${name}.js`))[what](...given)"
    return lambda name, what, *given: page.evaluate(run, [name, what, list(given)])


def term(label: str, value: float, field: str = "words") -> dict[str, Any]:
    return {"kind": "term", "label": label, "term": label, "field": field, "value": value}


def node(value: float, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "field", "label": "", "value": value, "parts": list(parts), **more}


def test_places_count_characters_where_strings_count_units(call: Any) -> None:
    # Two characters of two units each come before the word.
    found = call("places", "runs", "😀😀 cat 😀", [{"start": 3, "end": 6, "key": "a"}])
    assert [(run["text"], len(run["marks"])) for run in found] == [("😀😀 ", 0), ("cat", 1), (" 😀", 0)]


def test_marks_that_overlap_and_a_passage_that_begins_later(call: Any) -> None:
    marks = [
        {"start": 10, "end": 14, "key": "a"},
        {"start": 12, "end": 16, "key": "b"},
        {"start": 0, "end": 2, "key": "c"},
    ]
    found = call("places", "runs", "abcdefgh", marks, 10)
    keys = [(run["text"], "".join(mark["key"] for mark in run["marks"])) for run in found]
    assert keys == [("ab", "a"), ("cd", "ab"), ("ef", "b"), ("gh", "")]


def test_a_passage_is_cut_between_words(call: Any) -> None:
    text = " ".join(f"word{n:02d}" for n in range(40))
    seen = call("places", "around", text, [{"start": 140, "end": 146}], 60)
    assert seen["text"].split()[0].startswith("word")
    assert text[seen["start"] :].startswith(seen["text"])
    assert seen["start"] <= 140 < seen["start"] + len(seen["text"])
    assert (seen["before"], seen["after"]) == (True, True)


def test_leaves_by_field_sum_to_the_tree(call: Any) -> None:
    words = node(1.5, term("a", 2.0), {"kind": "baseline", "label": "", "field": "words", "value": -0.5}, field="words")
    latent = node(3.0, term("b", 3.0, "latent"), field="latent")
    found = call("tree", "byField", {"kind": "fusion", "label": "", "value": 4.5, "parts": [words, latent]})
    assert [(one["field"], one["value"]) for one in found] == [("latent", 3.0), ("words", 1.5)]
    assert [part["value"] for part in found[1]["parts"]] == [2.0, -0.5], "what takes away comes last"


def test_the_difference_of_two_trees(call: Any) -> None:
    a = node(5.0, term("x", 3.0), term("y", 2.0), field="words")
    b = node(4.0, term("y", 2.5), term("z", 1.5), field="words")
    (found,) = call("tree", "difference", a, b)
    assert {part["term"]: part["value"] for part in found["parts"]} == {"x": 3.0, "y": -0.5, "z": -1.5}
    assert found["value"] == 1.0


@pytest.mark.parametrize(("value", "like", "text"), [
    (7.8697, None, "7.870"), (0.0164, None, "0.01640"), (0.0708, 7.87, "0.071"), (6436.625, None, "6436.6"),
    (-0.25, None, "−0.250"), (-0.0001, 5.0, "0.000"), (0.0, None, "0.000"),
])  # fmt: skip
def test_scores_are_written_as_what_they_sum_to(call: Any, value: float, like: float | None, text: str) -> None:
    assert call("format", "score", *([value] if like is None else [value, like])) == text


def test_a_table_for_spreadsheets_runs_nothing(call: Any) -> None:
    rows = [{"id": '=HYPERLINK("x")', "score": -1.5}, {"id": "a,b", "score": None}]
    assert call("export", "csv", ["id", "score"], rows) == 'id,score\r\n"\'=HYPERLINK(""x"")",-1.5\r\n"a,b",'


def test_the_address_holds_the_whole_state(call: Any) -> None:
    left = {
        "method": "rrf", "preset": "", "fields": ["words", "latent"], "weights": {"words": 2.5}, "k": 20, "min": 0.5,
        "adjust": {"latent": {"77": 0, "a:b": 2}}, "k1": 0, "b": 1,
    }  # fmt: skip
    state = {
        "view": "scores", "c": "n", "q": "a & b = ?", "picture": "p", "like": "x/y", "why": "w", "above": "v",
        "absent": "u", "field": "f", "term": "t", "label": "l", "where": {"year": [2020, 2021], "t": ["é"]},
        "left": left, "right": {**left, "k": 5},
    }  # fmt: skip
    assert call("router", "read", call("router", "write", state)) == state


def test_an_address_that_somebody_edited(call: Any) -> None:
    state = call("router", "read", "?view=nonsense&k=-3&min=x&where.a={&weight:words=NaN&adjust:latent=1")
    assert (state["view"], state["left"]["k"], state["left"]["min"]) == ("search", 1, None)
    assert state["where"] == state["left"]["weights"] == state["left"]["adjust"] == {}
