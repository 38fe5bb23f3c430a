"""A passage as one line for a terminal, and the places that a tree quotes; `tests/explain` has which passage it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.cli import _passage
from zipfian.cli._output import MATCH
from zipfian.cli._passage import passage
from zipfian.cli._tree import tree_lines
from zipfian.types import Explanation, Token


def spans(text: str, *words: str) -> list[Token]:
    return [Token(word, at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]


def test_a_short_text_is_shown_whole() -> None:
    text = "the quick  brown\nfox"
    assert passage(text, spans(text, "quick", "fox"), size=100) == "the **quick** brown **fox**"


def test_a_long_text_is_cut_on_both_sides() -> None:
    text = "x " * 200 + "a cat and a dog met " + "x " * 200
    shown = passage(text, spans(text, "cat", "dog"), size=80)
    assert "a **cat** and a **dog** met" in shown
    assert (shown[:4], shown[-4:]) == ("...x", "x...")


def test_faint_terms_are_not_marked() -> None:
    text = "an axolotl swims the pond of the dog"
    worth = {"the": 0.49, "axolotl": 5.0, "dog": 0.5}
    assert passage(text, spans(text, *worth), worth) == "an **axolotl** swims the pond of the **dog**"


def test_marks_are_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_passage, "wants_colour", lambda stream: True)
    assert passage("a cat", [Token("cat", 2, 5)]) == f"a \x1b[{MATCH}mcat\x1b[0m"


def test_terminal_codes_in_a_document_are_disarmed() -> None:
    text = "a \x1b[31mred\x1b[0m b"
    assert "\x1b" not in passage(text, [Token("a", 0, 1), Token("red", 1, 10)])


places = st.builds(
    lambda start, n, term: Token(term, start, start + n),
    st.integers(0, 300),
    st.integers(1, 90),
    st.sampled_from("abc"),
)


@given(text=st.text(max_size=300), found=st.lists(places, max_size=20), size=st.integers(-5, 200))
def test_any_text_and_places_give_one_line(text: str, found: list[Token], size: int) -> None:
    assert "\n" not in passage(text, found, {"a": 0.0, "b": 0.01, "c": 10.0}, size)


def test_a_tree_quotes_a_few_places() -> None:
    text = "a dog, a dog, a dog, a dog and a cat"
    dogs = tuple({"start": i, "end": i + 3} for i in range(len(text)) if text.startswith("dog", i))
    tree = Explanation(2.5, "words", (Explanation(2.5, "dog", details={"tf": 4, "idf": 0.123456}, evidence=dogs),))
    first, second, third = tree_lines(tree, text)
    assert first == "  2.5000  words"
    assert second == "    2.5000  dog  tf=4, idf=0.1235"
    assert third.endswith("at 16 and 1 more")
    assert '"a dog, a dog, a dog,..." at 2' in third
