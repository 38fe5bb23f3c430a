from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zipfian.cli._snippet import Match, best_window, matches_of, snippet, strong
from zipfian.cli._tree import tree_lines
from zipfian.types import Explanation


def matches(text: str, values: dict[str, float]) -> list[Match]:
    return sorted(
        Match(at, at + len(word), word, value)
        for word, value in values.items()
        for at in range(len(text))
        if text.startswith(word, at)
    )


def test_matches_come_from_the_whole_tree() -> None:
    leaf = Explanation(1.0, "t", evidence=({"start": 9, "end": 12}, {"start": 0, "end": 3}, {"patch": 4}))
    other = Explanation(2.0, "u", evidence=({"start": 2, "end": 5},))
    found = matches_of(Explanation(3.0, "q", (leaf, other)))
    assert found == [Match(0, 3, "t", 1.0), Match(2, 5, "u", 2.0), Match(9, 12, "t", 1.0)]


def test_a_short_text_is_shown_whole() -> None:
    text = "the quick  brown\nfox"
    assert snippet(text, matches(text, {"quick": 1, "fox": 1}), 100) == "the **quick** brown **fox**"


def test_the_window_with_most_different_terms_wins() -> None:
    text = "cat " * 30 + "x " * 200 + "a cat and a dog met " + "x " * 200
    shown = snippet(text, matches(text, {"cat": 1, "dog": 1}), 80)
    assert "**cat** and a **dog**" in shown
    assert shown.startswith("...")
    assert shown.endswith("...")


def test_a_term_that_counts_more_wins_and_faint_ones_are_not_marked() -> None:
    text = "the dog in the park " + "x " * 200 + "an axolotl swims the pond " + "x " * 200
    shown = snippet(text, matches(text, {"the": 0.1, "dog": 1.0, "axolotl": 5.0}), 80)
    assert "**axolotl** swims the pond" in shown


def test_terminal_codes_in_a_document_are_disarmed() -> None:
    assert "\x1b" not in snippet("a \x1b[31mred\x1b[0m b", [Match(0, 1)], 100)


places = st.builds(
    lambda start, n, term, value: Match(start, start + n, term, value),
    st.integers(0, 300),
    st.integers(1, 90),
    st.sampled_from("abc"),
    st.floats(0, 10),
)


@given(text=st.text(max_size=300), found=st.lists(places, max_size=20).map(sorted), size=st.integers(20, 200))
def test_any_text_and_matches_give_one_line(text: str, found: list[Match], size: int) -> None:
    start, end = best_window(text, strong(found), size)
    assert 0 <= start <= end <= len(text)
    assert end - start <= size
    assert "\n" not in snippet(text, found, size)


@given(found=st.lists(places, max_size=12).map(sorted))
def test_the_window_is_the_best_of_all(found: list[Match]) -> None:
    """Against the definition: all starts, all terms within reach."""
    text, size = "xxx " * 100, 100
    marked = [Match(m.start, m.end, m.term, {"a": 1.0, "b": 2.0, "c": 4.0}[m.term]) for m in strong(found)]

    def worth(first: Match) -> float:
        return sum({m.term: m.value for m in marked if first.start <= m.start and m.end <= first.start + 62}.values())

    start, end = best_window(text, marked, size)
    best = max(map(worth, marked), default=0.0)
    shown = sum({m.term: m.value for m in marked if start <= m.start and m.end <= end}.values())
    assert shown >= best


def test_a_tree_quotes_a_few_places() -> None:
    text = "a dog, a dog, a dog, a dog and a cat"
    dogs = tuple({"start": i, "end": i + 3} for i in range(len(text)) if text.startswith("dog", i))
    tree = Explanation(2.5, "words", (Explanation(2.5, "dog", details={"tf": 4, "idf": 0.123456}, evidence=dogs),))
    first, second, third = tree_lines(tree, text)
    assert first == "  2.5000  words"
    assert second == "    2.5000  dog  tf=4, idf=0.1235"
    assert third.endswith("at 16 and 1 more")
    assert '"a dog, a dog, a dog,..." at 2' in third
