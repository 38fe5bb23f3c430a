"""Cutting long texts: nothing is lost, everything fits, and cuts are where an author would make them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.encode.passages import SHARED, Count, Reading, cut, fitting, passages
from zipfian.errors import InvalidInput


def words(room: int) -> Count:
    """Counts words: a window takes `room` of them."""
    return lambda texts: [len(text.split()) / room for text in texts]


def letters(room: int) -> Count:
    return lambda texts: [len(text) / room for text in texts]


def test_a_text_that_fits_is_one_passage() -> None:
    assert cut("one two three", words(3)) == [(0, 13)]
    assert cut("", words(3)) == [(0, 0)]


@given(st.text(alphabet="ab c.\n!#。", max_size=400), st.integers(3, 30))
def test_nothing_is_lost_and_everything_fits(text: str, room: int) -> None:
    spans = cut(text, letters(room))
    covered = [False] * len(text)
    for start, end in spans:
        assert 0 <= start <= end <= len(text)
        covered[start:end] = [True] * (end - start)
        if len(spans) > 1:
            assert start < end and not text[start:end].isspace()
    lost = "".join(c for c, seen in zip(text, covered, strict=True) if not seen)
    assert not lost.strip(), "only white space may lie between passages"
    assert spans == sorted(spans) and len(set(spans)) == len(spans)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60), st.integers(8, 40))
def test_passages_of_sentences_fit_their_window(lengths: list[int], room: int) -> None:
    text = " ".join(" ".join(["word"] * n) + "." for n in lengths)
    for start, end in cut(text, words(room)):
        assert len(text[start:end].split()) <= room


def test_sections_come_before_sentences() -> None:
    sections = [f"# Part {n}\n" + " ".join(f"Sentence {i} of part {n}." for i in range(4)) for n in range(6)]
    text = "\n\n".join(sections)
    for start, end in cut(text, words(48)):  # two parts of 23 words each fit
        assert text[start:end].startswith(("# Part", "Sentence 3")), text[start:end]


def test_neighbours_share_a_short_sentence() -> None:
    text = " ".join(f"This is sentence number {i}." for i in range(40))
    spans = cut(text, words(50))
    assert len(spans) > 3
    for (_, end), (start, _) in itertools.pairwise(spans):
        shared = text[start:end]
        assert shared.count(".") == 1 and len(shared.split()) / 50 <= SHARED


def test_passages_are_of_about_one_size() -> None:
    text = " ".join(f"This is sentence number {i}." for i in range(41))
    sizes = [len(text[a:b].split()) for a, b in cut(text, words(50))]
    assert min(sizes) >= 0.6 * max(sizes), sizes


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    text = "x" * 1000
    spans = cut(text, letters(64))
    assert next(a for a, _ in spans) == 0 and spans[-1][1] == 1000
    assert all(b - a <= 64 for a, b in spans)
    assert all(0 <= left[1] - right[0] <= SHARED * 64 for left, right in itertools.pairwise(spans))


def test_words_without_a_sentence_are_not_cut_in_two() -> None:
    text = "dog " * 2_000
    spans = cut(text, words(50))
    assert all(set(text[a:b].split()) == {"dog"} and len(text[a:b].split()) <= 50 for a, b in spans)


def test_white_space_alone_is_one_passage() -> None:
    assert cut(" \n" * 50, letters(10)) == [(0, 100)]


def test_a_character_of_many_tokens_is_not_cut() -> None:
    assert cut("ab", lambda texts: [4.0 * len(text) for text in texts]) == [(0, 1), (1, 2)]


def test_sentences_of_other_scripts_end_a_passage() -> None:
    text = "这是第一句话。" * 30
    for start, end in cut(text, letters(50)):
        assert text[start] == "这" and text[end - 1] == "。"


class Windowed:
    max_tokens = 12
    long_texts = "windows"

    def __init__(self) -> None:
        self.counted = 0

    def count_tokens(self, texts: list[str]) -> list[int]:
        self.counted += 1
        return [len(text.split()) for text in texts]


def test_an_encoder_reads_by_its_window() -> None:
    encoder = Windowed()
    assert passages(encoder, "a b c d") == [(0, 7)] and not encoder.counted, "no text of 10 letters has 11 tokens"
    text = " ".join("ab" for _ in range(10))
    assert passages(encoder, text) == [(0, len(text))] and encoder.counted
    found = passages(encoder, text + " ab")
    assert len(found) > 2, "what does not fit is cut into passages of half a window at most"
    assert all(len((text + " ab")[a:b].split()) <= 5 for a, b in found)


def test_a_book_is_counted_in_pieces() -> None:
    """An encoder refuses to count more than it could encode: no text is too long to be cut."""

    class Careful(Windowed):
        def count_tokens(self, texts: list[str]) -> list[int]:
            assert max(map(len, texts)) <= 40_000
            return super().count_tokens(texts)

    text = "\n\n".join(" ".join(f"w{i}" for i in range(40)) + "." for _ in range(1_500))
    spans = passages(Careful(), text)
    assert len(spans) > 6_000 and spans[0][0] == 0 and spans[-1][1] == len(text)


def test_which_of_many_texts_fit_is_known_from_counting_them_together() -> None:
    class Counting(Windowed):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[int] = []

        def count_tokens(self, texts: list[str]) -> list[int]:
            self.asked.append(len(texts))
            if any("bad" in text for text in texts):
                raise InvalidInput("a text that cannot be counted")
            return super().count_tokens(texts)

    texts = ["word", "word " * 9, "word " * 10, "word " * 11, "", "word " * 40]
    encoder = Counting()
    assert fitting(encoder, texts) == [len(passages(Windowed(), text)) == 1 for text in texts]
    assert fitting(encoder, texts) == [True, True, True, False, True, False]
    assert encoder.asked == [4, 4], "short ones are not counted, the others in one go"
    assert fitting(encoder, [*texts, "bad", "word " * 9_000]) == [True, True, True, False, True, False, True, False]
    assert fitting(encoder, ["word " * 3, "bad" * 4, "x"]) == [False, False, True], "then each is asked by itself"


def test_a_passage_is_read_with_the_title_before_it() -> None:
    text = "# Of rivers  \n\nThey run. They end."
    start = text.index("They end")
    reading = Reading.of(text, (start, len(text)))
    assert reading.text == "Of rivers\nThey end."
    for word in ("rivers", "end", "They", "Of"):
        at = reading.text.index(word)
        first, last = reading.place(at, at + len(word))
        assert text[first:last] == word and (word in "Of rivers" or first >= start)


@pytest.mark.parametrize(
    "text, span, read",
    [
        ("Title\nOne. Two.", (0, 10), "Title\nOne."),
        ("Title\nOne. Two.", (6, 10), "Title\nOne."),
        ("One line alone. And more.", (16, 25), "And more."),
        ("x" * 121 + "\nrest", (122, 126), "rest"),
        ("\n\n", (0, 2), "\n\n"),
        ("#\nOne. Two.", (7, 11), "Two."),
        ("a" + " " * 5_000 + "b\nOne.", (5_003, 5_007), "One."),
    ],
)
def test_what_is_read_of_a_passage(text: str, span: tuple[int, int], read: str) -> None:
    reading = Reading.of(text, span)
    assert reading.text == read
    last = len(reading.text) - 1
    first, end = reading.place(last, last + 1)
    assert text[first:end] == reading.text[last]


@pytest.mark.parametrize("change", [{"long_texts": "cut"}, {"max_tokens": None}])
def test_an_encoder_without_windows_reads_everything_at_once(change: dict[str, object]) -> None:
    encoder = Windowed()
    for name, value in change.items():
        setattr(encoder, name, value)
    assert passages(encoder, "ab " * 100) == [(0, 300)]
