"""The rows of a field of words."""

from __future__ import annotations

import itertools

import pytest

from zipfian.errors import InvalidInput
from zipfian.fields import Words
from zipfian.fields.item import Item
from zipfian.fields.rows import IDEOGRAPH, LONG, PASSAGE, Rows, word_passages

SENTENCE = "The cell divides again. "


def item(text: str | None) -> Item:
    return Item("d", text, {}, {}, {}, 0, language="en")


def test_a_text_of_a_page_or_two_is_not_cut() -> None:
    at_most = (SENTENCE * 1_000)[: LONG * 200]
    assert word_passages(at_most, 200) == [(0, len(at_most))]
    assert len(word_passages(at_most + "x", 200)) > LONG
    assert word_passages(SENTENCE * 1_000, 0) == [(0, len(SENTENCE) * 1_000)]


def test_passages_hold_every_word_and_are_of_the_size_asked_for() -> None:
    text = SENTENCE * 200
    spans = word_passages(text, 300)
    assert spans[0][0] == 0 and spans[-1][1] == len(text.rstrip())
    assert all(a < b and b - a <= 300 for a, b in spans)
    assert all(after[0] <= before[1] + 1 for before, after in itertools.pairwise(spans)), "nothing between"


def test_ideographs_say_more() -> None:
    chinese = "细胞再次分裂。" * 100
    letters = SENTENCE * 29  # as many characters
    assert abs(len(chinese) - len(letters)) < 10
    size = len(chinese) // (LONG - 1)
    assert word_passages(letters, size) == [(0, len(letters))]
    spans = word_passages(chinese, size)
    assert max(b - a for a, b in spans) <= size / IDEOGRAPH * 1.2 and len(spans) > LONG


def test_rows_say_where_they_stand() -> None:
    long = "Cells\n\n" + SENTENCE * 40
    rows = Rows("words", 100)
    read = list(rows.read([item("short"), item(long), item(None)]))
    passages = rows.passages
    assert passages is not None
    assert passages.first.tolist() == [0, 1, len(read) - 1, len(read)]
    assert (passages.starts[0], passages.ends[0]) == (0, 0) == (passages.starts[-1], passages.ends[-1])
    middle = str(read[5][0])
    assert middle.startswith("Cells\n"), "with the title"
    assert middle[6:] == long[passages.starts[5] : passages.ends[5]]
    assert {language for _, language in read} == {"en"}
    short = Rows("words", 100)
    assert [text for text, _ in short.read([item("a"), item("b")])] == ["a", "b"] and short.passages is None


def test_words_counted_already_are_not_counted_again() -> None:
    counted = item("short")
    counted.counts = {"words": {"other": 3}}
    assert [text for text, _ in Rows("words", 100).read([counted])] == [{"other": 3}]


def test_the_size_is_part_of_the_field() -> None:
    field = Words(passages=500)
    assert field.to_json()["passages"] == 500 and Words().passages == PASSAGE
    batch = field.batch("words", [item(SENTENCE * 200)])
    assert batch.passages is not None and len(batch.indptr) == len(batch.passages.starts) + 1
    assert Words(passages=0).batch("words", [item(SENTENCE * 1_000)]).passages is None
    fixed = Words(passages=500, language="english").batch("words", [item(SENTENCE * 200)])
    assert fixed.indptr.tolist() == batch.indptr.tolist()


@pytest.mark.parametrize("size", [1, -5, 1.5, True, "long", 10**12])
def test_sizes_that_no_passage_has(size: object) -> None:
    with pytest.raises(InvalidInput, match="passages"):
        Words(passages=size)  # type: ignore[arg-type]
