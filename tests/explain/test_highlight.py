"""Snippets: the right passages, whole characters, escaped text, bounded size and time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.explain._graphemes import can_cut
from zipfian.explain.highlight import Snippet, highlight
from zipfian.explain.spans import spans_of
from zipfian.types import Explanation, Token
from zipfian.vocabulary import Words

WORDS = Words()


def show(text: str, query: str, **options: int) -> list[Snippet]:
    return highlight(text, WORDS.spans(text, WORDS.query(query)), **options)


def test_marks_in_a_short_text() -> None:
    (snippet,) = show("Cells divide; a cell's wall does not.", "cell walls")
    assert snippet.render() == "**Cells** divide; a **cell's** **wall** does not."
    assert snippet.render("[", "]") == "[Cells] divide; a [cell's] [wall] does not."
    assert (snippet.more_before, snippet.more_after) == (False, False)


def test_html_is_escaped_and_markers_are_not() -> None:
    (snippet,) = show("if a<b & b>c then 'cell' <script>", "cell script")
    assert snippet.render("<mark>", "</mark>", escape_html=True) == (
        "if a&lt;b &amp; b&gt;c then &#x27;<mark>cell</mark>&#x27; &lt;<mark>script</mark>&gt;"
    )


def test_overlapping_and_touching_marks_are_merged() -> None:
    (snippet,) = show("in 東京都 foo_bar", "東京都 foo_bar")
    assert snippet.render("[", "]") == "in [東京都] [foo_bar]"
    (snippet,) = highlight("abcdef", [Token("x", 0, 2), Token("y", 2, 4), Token("z", 1, 3)])
    assert snippet.marks == ((0, 4),)
    (snippet,) = highlight("abcdef", [Token("x", 0, 2), Token("y", 2, 4)])
    assert snippet.marks == ((0, 4),), "touching"
    (snippet,) = highlight("abcdef", [Token("x", 0, 2), Token("y", 3, 4)])
    assert snippet.marks == ((0, 2), (3, 4)), "a letter between"
    (snippet,) = highlight("abcdef", [Token("x", 0, 5), Token("y", 1, 2), Token("z", 5, 6)])
    assert snippet.marks == ((0, 6),), "one inside another"


def test_the_best_passage_is_chosen() -> None:
    text = "cell " + "filler " * 100 + "the cell wall membrane here " + "filler " * 100 + "wall"
    (snippet,) = show(text, "cell wall membrane", max_chars=60, max_snippets=1)
    assert "**cell** **wall** **membrane**" in snippet.render()
    assert snippet.more_before
    assert snippet.more_after
    assert snippet.render().startswith("\u2026filler")
    assert snippet.render().endswith("filler\u2026")
    assert len(snippet.text) <= 60


def test_two_words_are_worth_more_than_one_three_times() -> None:
    text = "cell cell cell " + "filler " * 50 + "wall membrane"
    (snippet,) = show(text, "cell wall membrane", max_chars=30, max_snippets=1)
    assert snippet.render("[", "]").endswith("[wall] [membrane]")


def test_weights_decide() -> None:
    text = "rare " + "filler " * 50 + "common usual"
    spans = WORDS.spans(text, {"rare", "common", "usual"})
    (first,) = highlight(text, spans, max_chars=40, max_snippets=1, weights={"rare": 5.0})
    assert "rare" in first.text
    (second,) = highlight(text, spans, max_chars=40, max_snippets=1)
    assert "common" in second.text


def test_a_second_snippet_prefers_what_was_not_shown() -> None:
    text = "alpha alpha alpha beta " + "x " * 100 + "alpha alpha beta " + "x " * 100 + "gamma"
    snippets = show(text, "alpha beta gamma", max_chars=50, max_snippets=2)
    assert [snippet.start for snippet in snippets] == sorted(snippet.start for snippet in snippets)
    assert any("gamma" in snippet.text for snippet in snippets)


def test_without_matches_the_beginning_is_shown() -> None:
    (snippet,) = highlight("one two three four", [], max_chars=9)
    assert (snippet.text, snippet.marks, snippet.more_after) == ("one two", (), True)
    assert highlight("", [])[0].render() == ""


def test_a_mark_longer_than_a_snippet() -> None:
    text = "x" * 1_000
    (snippet,) = highlight(text, [Token("x", 100, 900)], max_chars=50, max_snippets=1)
    assert len(snippet.text) == 50
    assert snippet.marks == ((100, 150),)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("e\u0301", 1),
        ("👩\u200d🚀", 1),
        ("👩\u200d🚀", 2),
        ("👍🏽", 1),
        ("🇩🇪🇫🇷", 1),
        ("🇩🇪🇫🇷", 3),
        ("\r\n", 1),
        ("ที", 1),
        ("\u1100\u1161", 1),
    ],
)
def test_characters_are_not_torn(text: str, at: int) -> None:
    assert not can_cut(text, at)


def test_flags_may_be_separated() -> None:
    assert can_cut("🇩🇪🇫🇷", 2)
    assert can_cut("ab", 1)


def test_marks_are_widened_to_whole_characters() -> None:
    text = "x e\u0301\u0302 y"
    (snippet,) = highlight(text, [Token("e", 2, 3)])
    assert snippet.render() == "x **e\u0301\u0302** y"
    (snippet,) = highlight(text, [Token("mark", 3, 4)])
    assert snippet.render() == "x **e\u0301\u0302** y"


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=4), st.sampled_from(["cell ", "wall", " \n", "e\u0301", "👩\u200d🚀", "🇩🇪", "東京", "a" * 30])
    )
).map("".join)


@given(TEXTS, st.integers(1, 80), st.integers(1, 4), st.data())
def test_snippets_are_sound(text: str, max_chars: int, max_snippets: int, data: st.DataObject) -> None:
    spans = WORDS.spans(text, {"cell", "wall", "東京"})
    if text:
        for _ in range(data.draw(st.integers(0, 3))):
            start = data.draw(st.integers(0, len(text) - 1))
            spans.append(Token("any", start, data.draw(st.integers(start + 1, len(text)))))
    snippets = highlight(text, spans, max_chars=max_chars, max_snippets=max_snippets)
    assert 1 <= len(snippets) <= max_snippets
    at = 0
    for snippet in snippets:
        assert at <= snippet.start <= snippet.end <= len(text)
        assert snippet.text == text[snippet.start : snippet.end]
        assert len(snippet.text) <= max_chars + 128
        assert snippet.render("", "", ellipsis="") == snippet.text
        inside = snippet.start
        for start, end in snippet.marks:
            assert inside <= start < end <= snippet.end
            inside = end
        assert bool(snippet.marks) == bool(spans)
        at = snippet.end


def test_time_is_linear() -> None:
    text = "cell wall " * 100_000
    spans = WORDS.spans(text, {"cell", "wall"})
    began = time.process_time()
    highlight(text, spans, max_chars=5_000, max_snippets=5)
    highlight("e" + "\u0301" * 500_000, [Token("e", 0, 1), Token("e", 250_000, 250_001)])
    highlight("🇩" * 500_000, [Token("e", 250_000, 250_001)], max_chars=100)
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize(
    "options", [{"max_chars": 0}, {"max_chars": True}, {"max_snippets": 0}, {"max_snippets": 10**9}]
)
def test_bad_options(options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        highlight("text", [], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("span", [(-1, 2), (2, 2), (3, 2), (0, 99)])
def test_spans_outside_the_text(span: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="span"):
        highlight("text", [Token("t", *span)])


def test_faint_terms_are_not_marked() -> None:
    spans = [Token("weak", 0, 4), Token("middle", 5, 11), Token("strong", 12, 18)]
    weights = {"weak": 0.4, "middle": 0.5, "strong": 5.0}
    (shown,) = highlight("weak middle strong", spans, weights=weights, faint=0.1)
    assert shown.render() == "weak **middle** **strong**"
    (shown,) = highlight("weak middle strong", spans, weights=weights)
    assert shown.render() == "**weak** **middle** **strong**"
    (shown,) = highlight("weak middle strong", spans[:1], weights=weights, faint=1.0)
    assert shown.render() == "**weak** middle strong", "the best of what is there"


@pytest.mark.parametrize("faint", [-0.1, 1.1, True, "much", float("nan")])
def test_faint_is_a_share(faint: float) -> None:
    with pytest.raises(InvalidInput, match="faint must be a share from 0 to 1"):
        highlight("text", [], faint=faint)


def test_the_text_is_cleaned_and_the_marks_are_not() -> None:
    (shown,) = highlight("a cat b", [Token("cat", 2, 5)])
    assert shown.render("<i>", "</i>", clean=str.upper) == "A <i>CAT</i> B"


TERMS = {"a": 1.0, "b": 2.0, "c": 4.0}


@given(starts=st.lists(st.tuples(st.integers(0, 390), st.sampled_from("abc")), min_size=1, max_size=12))
def test_the_window_is_the_best_of_all(starts: list[tuple[int, str]]) -> None:
    """Against the definition: all starts, all terms within reach, a repeated one worth a tenth."""
    text, size = "xxx " * 100, 100
    spans = [Token(term, start, start + 3) for start, term in starts]

    def worth(start: int, end: int) -> float:
        inside = [token.term for token in spans if start <= token.start and token.end <= end]
        return sum(TERMS[term] * (1 + 0.1 * (inside.count(term) - 1)) for term in set(inside))

    (shown,) = highlight(text, spans, weights=TERMS, max_chars=size, max_snippets=1)
    assert worth(shown.start, shown.end) >= max(worth(token.start, token.start + size) for token in spans) - 1e-9
    assert shown.end - shown.start <= size


def test_spans_come_from_the_whole_tree() -> None:
    leaf = Explanation(1.0, "t", evidence=({"start": 9, "end": 12}, {"start": 0, "end": 3}, {"patch": 4}))
    other = Explanation(2.0, "u", evidence=({"start": 2, "end": 5},))
    again = Explanation(0.5, "t", evidence=({"start": 0, "end": 3},))
    silent = Explanation(9.0, "v", evidence=({"row": 1},))
    found, worth = spans_of(Explanation(12.5, "q", (leaf, other, again, silent)))
    assert found == [Token("t", 0, 3), Token("t", 0, 3), Token("u", 2, 5), Token("t", 9, 12)]
    assert worth == {"t": 1.5, "u": 2.0}


def test_faint_firings_and_function_words_are_left_out() -> None:
    evidence = (
        {"start": 0, "end": 3, "text": "sun", "strength": 1.0},
        {"start": 4, "end": 7, "text": "ray", "strength": 0.6},
        {"start": 8, "end": 11, "text": "fog", "strength": 0.59},
        {"start": 12, "end": 15, "text": "The", "strength": 0.9, "mark": False},
        {"start": 16, "end": 17, "text": ".", "strength": 0.9, "mark": False},
    )
    assert spans_of(Explanation(1.0, "light", evidence=evidence))[0] == [Token("light", 0, 3), Token("light", 4, 7)]


@pytest.mark.parametrize(
    "place", [{"start": 3, "end": 3}, {"start": -1, "end": 2}, {"start": 1}, {"start": "1", "end": 2}]
)
def test_what_is_no_place_in_a_text_is_passed_over(place: dict[str, object]) -> None:
    assert spans_of(Explanation(1.0, "t", evidence=(place,))) == ([], {})
