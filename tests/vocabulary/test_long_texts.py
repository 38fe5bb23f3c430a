"""Long texts and long chunks: the same terms in the same places as everywhere else, in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian import limits
from zipfian.errors import LimitExceeded
from zipfian.types import Token
from zipfian.vocabulary import Words, WordSettings, _analyser, _long, tokenizer

LONG = 1 << 17


@contextmanager
def everything_is_long() -> Iterator[None]:
    """The detours of long texts and long chunks, taken by every one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (tokenizer, _long, _analyser):
            patch.setattr(module, "LONG_CHUNK", 0)
        for module in (_long, _analyser):
            patch.setattr(module, "LONG_TEXT", 0)
        patch.setattr(limits, "MAX_CACHED_WORD_CHARS", 0)
        patch.setattr(_long, "_WINDOW", 2)
        patch.setattr(_long, "_WAITING", 2)
        yield


JOINTS = "-.&@_"
LETTERS = [
    "a",
    "bc",
    "1",
    "22,333",
    "1,2",
    "_",
    "é",
    "o'b",
    "3.14",
    "x@y",
    "漢",
    "か",
    "กา",
    "한",
    "국어",
    "\u1112\u1161\u11ab",
    "\u0301",
    "\u200d",
    "#",
    " ",
]
JOINED = st.lists(st.sampled_from([*JOINTS, *LETTERS, ".net", "++", ",", "-_-", "a.b-"]), max_size=60).map("".join)
COMPOUNDS = st.lists(st.tuples(st.sampled_from(LETTERS[:10]), st.sampled_from(JOINTS)), max_size=40).map(
    lambda parts: "".join(map("".join, parts))[:-1]
)
TEXTS = st.one_of(JOINED, COMPOUNDS, COMPOUNDS.map("{}++".format), COMPOUNDS.map(".net.{}".format))
SETTINGS = [WordSettings(), WordSettings(join_compounds=False), WordSettings(language="korean"), WordSettings(grams=3)]


@pytest.mark.parametrize("settings", SETTINGS)
@given(text=TEXTS)
def test_long_ways_lead_to_the_same_terms_and_places(settings: WordSettings, text: str) -> None:
    analyser = Words(settings)
    terms, tokens, counts = analyser.terms(text), analyser.tokenize(text), analyser.counts(text)
    wanted = set(terms[::2])
    spans, queried, rows = analyser.spans(text, wanted), analyser.query(text), analyser.batch([text, text])
    assert spans == [t for t in tokens if t.term in wanted]
    with everything_is_long():
        slow = Words(settings)
        assert slow.terms(text) == terms
        assert slow.tokenize(text) == tokens
        assert slow.query(text) == queried
        assert Counter(slow.counts(text)) == Counter(counts)
        assert sorted(map(astuple, slow.spans(text, wanted))) == sorted(map(astuple, spans))
        again = slow.batch([text, text])
        for field in ("indptr", "indices", "tf"):
            assert getattr(again, field).tolist() == getattr(rows, field).tolist()
        assert list(again.terms) == list(rows.terms)


def test_counts_may_stand_for_a_text_in_a_batch() -> None:
    texts = ["b a b", "c c a", "b é-a"]
    analyser = Words()
    plain, mixed = analyser.batch(texts), analyser.batch([texts[0], analyser.counts(texts[1]), texts[2]])
    assert list(plain.terms) == list(mixed.terms)
    assert plain.tf.tolist() == mixed.tf.tolist()
    assert plain.indices.tolist() == mixed.indices.tolist()


@pytest.mark.parametrize(
    "unit", ["a-", "a_", "a.", "1,", "a ", "ab-", "a@", "1_", "漢", "か\u3099", "กา", "\u0301", "İ", "_-", "x"]
)
def test_memory_does_not_grow_with_the_number_of_words(unit: str) -> None:
    """A list of the words of this text, or of their places, would take twenty bytes of each character and more."""
    text = (unit * LONG)[:LONG]
    analyser = Words()
    analyser.counts(text[: _long.LONG_TEXT + 2])
    tracemalloc.start()
    try:
        counts = analyser.counts(text)
        analyser.spans(text, {"no such"})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(counts.values()) <= 2 * LONG
    assert peak < 12 * LONG + 2_000_000


def test_places_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PLACES", 3)
    assert Words().spans("b c b b b b", {"b"}) == [Token("b", 0, 1), Token("b", 4, 5), Token("b", 6, 7)]
    assert len(Words().spans("b " * LONG, {"b"})) == 3


def test_too_many_terms_are_noticed_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DOCUMENT_TERMS", 100)
    monkeypatch.setattr(_long, "_WAITING", 10)
    monkeypatch.setattr(_long, "_AT_ONCE", 8)
    plain, read = _analyser.Analyser._chunk_terms, Counter[str]()

    def counted(self: _analyser.Analyser, chunk: str) -> Iterable[str]:
        read[chunk] += 1
        return plain(self, chunk)

    monkeypatch.setattr(_analyser.Analyser, "_chunk_terms", counted)
    with pytest.raises(LimitExceeded, match="more than 100 distinct terms"):
        Words().counts(" ".join(map(str, range(50_000))))
    assert len(read) < 200


def test_marks_beyond_the_thirtieth_change_no_term_and_cost_nothing() -> None:
    few, many = ("a" + "\u0323\u0301" * n for n in (10, 500))
    assert Words().terms(few) == Words().terms(many) == ["a"]
    kept = Words(WordSettings(fold_accents=False, stem=False))
    assert kept.terms("a" + "\u0301" * 1_000) == kept.terms("a" + "\u0301" * 30)
    assert kept.terms("a" + "\u0301" * 30) != kept.terms("a" + "\u0301" * 29)


def test_what_is_read_once_is_never_remembered() -> None:
    assert tokenizer.LONG_CHUNK >= limits.MAX_CACHED_WORD_CHARS
    analyser, chunk = Words(), "b-" * tokenizer.LONG_CHUNK
    assert analyser.terms(chunk) == analyser.terms(chunk) == ["b"] * tokenizer.LONG_CHUNK


@pytest.mark.parametrize("joint", ["-", ".", "_", "-.", ".-"])
@pytest.mark.parametrize("n", range(1, 2 * limits.MAX_JOINED_PARTS + 3))
def test_compounds_are_run_together_up_to_the_same_number_of_parts(n: int, joint: str) -> None:
    text = "".join(f"w{i}{joint[i % len(joint)]}" for i in range(n))[:-1]
    expected = Words().tokenize(text)
    with everything_is_long():
        assert Words().tokenize(text) == expected
        assert Words().counts(text) == Counter(token.term for token in expected)
