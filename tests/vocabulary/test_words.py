"""The `words` vocabulary: terms, offsets, counts, queries, batches, settings."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian import limits
from zipfian.errors import FormatTooNew, InvalidInput, LimitExceeded
from zipfian.vocabulary import Words, WordSettings
from zipfian.vocabulary.stemming import language_name
from zipfian.vocabulary.stopwords import STOP_WORDS

VARIANTS = [
    WordSettings(),
    WordSettings(stem=False, fold_accents=False),
    WordSettings(stop_words=True, drop_stop_words=True, keep_numbers=False),
    WordSettings(join_compounds=False),
    WordSettings(language="french"),
    WordSettings(language="turkish"),
    WordSettings(language="korean"),
    WordSettings(language="hindi"),
    WordSettings(language="german", grams=4),
    WordSettings(language="none", stem=False, stop_words=False),
]
ANALYSERS = [Words(settings) for settings in VARIANTS]
FRAGMENTS = st.sampled_from(
    ["foo_bar", "U.S.A.", ".NET", "C++", "10,000", "3.14", "don't", "l'avion", "e-mail", "a@b.org", "東京都", "ภาษาไทย",
     "cafe\u0301", "İstanbul", "ISPARTA", "ﬁne", "½", "ß", "\u00ad", "\u200d", "हिन्दी", "\ufdfa", "Ⅷ", "ｶﾞ", "'",
     "\u2019", "-", ".", ",", "_", "#", "++", " ", "\n", "A.A++", "🇩🇪", "👩\u200d👩", "\U00020000", "\u0345", "ͺ",
     "⑴", "ǅ", "\u0e33", "٣", "학교에서", "\u1112\u1161\u11ab", "\u1161", "हिन्दी", "सड़क"]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=3))).map("".join))


@pytest.mark.parametrize("words", ANALYSERS, ids=lambda words: words.fingerprint)
@given(text=TEXTS)
def test_every_offset_slices_to_something_with_that_term(words: Words, text: str) -> None:
    for token in words.tokenize(text):
        assert token.term in words.terms(text[token.start : token.end]), token


@pytest.mark.parametrize("words", ANALYSERS, ids=lambda words: words.fingerprint)
@given(text=TEXTS)
def test_all_ways_to_analyse_agree(words: Words, text: str) -> None:
    tokens = [token.term for token in words.tokenize(text)]
    assert words.terms(text) == tokens
    counts = words.counts(text)
    assert counts == {term: tokens.count(term) for term in tokens}
    assert list(counts) == list(dict.fromkeys(tokens))
    assert Words(words.settings).terms(text) == tokens
    batch = words.batch([text])
    assert dict(zip([batch.terms[i] for i in batch.indices], batch.tf.tolist(), strict=True)) == counts


@given(text=TEXTS)
def test_terms_can_be_stored(text: str) -> None:
    for term in Words().terms(text):
        assert 0 < len(term.encode()) <= limits.MAX_TERM_BYTES
        assert not any(map(str.isspace, term))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Cells' cell's cells cell", ["cell"] * 4),
        ("BM25 bm25 ＢＭ２５", ["bm25"] * 3),
        ("Café cafe CAFE\u0301 cafés", ["cafe"] * 4),
        ("Łódź lodz Ångström angstrom Straße strasse", ["lodz", "lodz", "angstrom", "angstrom", "strass", "strass"]),
        ("co\u00adop coop", ["coop", "coop"]),
        ("ﬁne fine", ["fine", "fine"]),
        ("O'Brien OBrien o\u2019brien", ["obrien"] * 3),
        ("she'll shell don\u2019t don't", ["she'll", "shell", "don't", "don't"]),
        ("foo_bar fooBar", ["foo", "bar", "foobar", "foobar"]),
        ("Node.js NodeJS", ["node", "js", "nodej", "nodej"]),
        ("e-mails email", ["e", "mail", "email", "email"]),
        ("PhD Ph.D.", ["phd", "ph", "d", "phd"]),
        ("U.S.A. USA", ["usa", "usa"]),
        ("10,000 10000", ["10000", "10000"]),
        ("١٢٣ 123", ["123", "123"]),
        ("йод иод ёлка елка", ["йод", "иод", "елка", "елка"]),
        ("مُحَمَّد محمد", ["محمد", "محمد"]),
        ("ｶﾞｽ ガス", ["ガス", "ガス"]),
    ],
)
def test_spellings_of_one_word(text: str, terms: list[str]) -> None:
    assert Words().terms(text) == terms


def test_languages_differ_in_what_an_apostrophe_means() -> None:
    def plain(language: str, text: str) -> list[str]:
        return Words(WordSettings(language=language, stem=False)).terms(text)

    assert plain("french", "l'avion qu\u2019il aujourd'hui") == ["avion", "il", "aujourdhui"]
    assert plain("italian", "dell'arte un'ora") == ["arte", "ora"]
    assert plain("catalan", "l'home d'aigua") == ["home", "aigua"]
    assert plain("turkish", "Türkiye'nin") == ["turkiye"]
    assert plain("german", "geht's") == ["gehts"]


def test_turkish_has_two_letters_i() -> None:
    words = Words(WordSettings(language="turkish", stem=False, fold_accents=False))
    assert words.terms("ISPARTA İstanbul ırmak") == ["ısparta", "istanbul", "ırmak"]


def test_accents_are_kept_for_the_stemmer_and_folded_after_it() -> None:
    words = Words(WordSettings(language="french"))
    assert len(set(words.terms("généralité généralités"))) == 1
    assert all(term.isascii() for term in words.terms("généralité élève"))
    assert Words(WordSettings(fold_accents=False)).terms("café") == ["café"]


def test_offsets_point_into_the_original() -> None:
    text = "Der ﬁne Straßen\u00adbau (CAFE\u0301S) in U.S.A."
    found = {token.term: text[token.start : token.end] for token in Words().tokenize(text)}
    assert found["fine"] == "ﬁne"
    assert found["strassenbau"] == "Straßen\u00adbau"
    assert found["cafe"] == "CAFE\u0301S"
    assert found["usa"] == "U.S.A"


def test_spans_of_wanted_terms() -> None:
    tokens = Words().spans("cells and more Cells", {"cell"})
    assert [(token.start, token.end) for token in tokens] == [(0, 5), (15, 20)]


def test_long_words_are_cut() -> None:
    words = Words()
    (term,) = words.terms("é" * 5_000)
    assert term == "e" * len(term)
    (term,) = words.terms("ж" * 5_000)
    assert len(term.encode()) == limits.MAX_TERM_BYTES
    (token,) = words.tokenize("x" * 5_000)
    assert (token.start, token.end) == (0, 5_000)


def test_numbers_can_be_left_out() -> None:
    assert Words(WordSettings(keep_numbers=False)).terms("3.14 BM25 1,000 x") == ["bm25", "x"]


def test_stop_words_are_indexed_but_not_searched_for() -> None:
    words = Words()
    assert words.counts("to be or not to be") == {"to": 2, "be": 2, "or": 1, "not": 1}
    assert words.query("What is the meaning of the word?") == {"mean": 1.0, "word": 1.0}
    assert words.query("to be or not to be") == {"to": 2.0, "be": 2.0, "or": 1.0, "not": 1.0}
    assert words.query("cells and more cells") == {"cell": 2.0}
    assert words.query("does a doe graze") == {"doe": 1.0, "graze": 1.0}
    assert words.query("") == {}


def test_stop_words_can_be_dropped_or_chosen() -> None:
    assert Words(WordSettings(drop_stop_words=True)).terms("The end of the world isn’t near") == [
        "end",
        "world",
        "near",
    ]
    own = WordSettings(stop_words=("Wörld", "end"), drop_stop_words=True)
    assert Words(own).terms("The end of the world") == ["the", "of", "the"]
    assert Words(WordSettings(stop_words=False)).query("the end") == {"the": 1.0, "end": 1.0}


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_stop_lists_are_words_of_the_language(language: str) -> None:
    listed = STOP_WORDS[language].split()
    assert language_name(language) == language
    assert len(listed) > 80
    assert len(listed) == len(set(listed))
    assert Words(WordSettings(language=language, drop_stop_words=True)).terms(" ".join(listed)) == []


def test_batch_of_several_texts() -> None:
    texts = ["b a b", "", "é-a c++", "the \U00020000"]
    words = Words()
    batch = words.batch(iter(texts))
    assert list(batch.terms) == sorted(batch.terms, key=str.encode)
    assert batch.indptr.tolist()[0] == 0
    assert batch.indptr.dtype == np.int64
    assert batch.indices.dtype == np.int32
    assert batch.tf.dtype == np.uint32
    for row, text in enumerate(texts):
        span = slice(batch.indptr[row], batch.indptr[row + 1])
        ids = batch.indices[span]
        assert (np.diff(ids) > 0).all()
        assert {batch.terms[i]: int(n) for i, n in zip(ids, batch.tf[span], strict=True)} == words.counts(text)


def test_empty_batch() -> None:
    for texts in ([], ["", "!"]):
        batch = Words().batch(texts)
        assert list(batch.terms) == []
        assert batch.indptr.tolist() == [0] * (len(texts) + 1)


@given(st.lists(TEXTS, max_size=6))
def test_batches_agree_with_counts(texts: list[str]) -> None:
    words = ANALYSERS[0]
    batch = words.batch(texts)
    for row, text in enumerate(texts):
        span = slice(batch.indptr[row], batch.indptr[row + 1])
        found = {batch.terms[i]: int(n) for i, n in zip(batch.indices[span], batch.tf[span], strict=True)}
        assert found == words.counts(text)


def test_small_caches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the quick brown fox-hound jumps over ten lazy dogs, the quick fox again " * 3
    expected = Words().terms(text)
    monkeypatch.setattr(limits, "MAX_CACHED_WORDS", 2)
    monkeypatch.setattr(limits, "MAX_CACHED_WORD_CHARS", 4)
    words = Words()
    for _ in range(3):
        assert words.terms(text) == expected
        assert [token.term for token in words.tokenize(text)] == expected


def test_threads_share_an_analyser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CACHED_WORDS", 50)
    texts = [" ".join(f"running{i * j}s jumped{i}-over" for j in range(60)) for i in range(20)]
    expected = [Words().terms(text) for text in texts]
    words, wrong = Words(), []

    def work() -> None:
        for text, terms in zip(texts, expected, strict=True):
            if words.terms(text) != terms:
                wrong.append(text)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_bad_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words()
    for bad in (None, b"bytes", 3):
        for method in (words.terms, words.counts, words.tokenize, words.query):
            with pytest.raises(InvalidInput, match="must be a string"):
                method(bad)  # type: ignore[operator]
    monkeypatch.setattr(limits, "MAX_TEXT_CHARS", 10)
    with pytest.raises(LimitExceeded, match="11 characters"):
        words.counts("a" * 11)
    monkeypatch.setattr(limits, "MAX_DOCUMENT_TERMS", 2)
    with pytest.raises(LimitExceeded, match="3 distinct terms"):
        words.counts("a b c")
    with pytest.raises(LimitExceeded, match="3 distinct terms"):
        words.batch(["a b", "a b c"])
    monkeypatch.setattr(limits, "MAX_QUERY_CHARS", 5)
    with pytest.raises(LimitExceeded, match="query"):
        words.query("a b c d")
    monkeypatch.setattr(limits, "MAX_QUERY_CHARS", 50)
    monkeypatch.setattr(limits, "MAX_QUERY_TERMS", 1)
    with pytest.raises(LimitExceeded, match="terms"):
        words.query("cat dog")
    with pytest.raises(LimitExceeded, match="terms"):
        words.query("to be")


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize("settings", [*VARIANTS, WordSettings(stop_words=("b", "a", "b"))])
def test_settings_survive_json(settings: WordSettings) -> None:
    again = WordSettings.from_json(json.loads(json.dumps(settings.to_json())))
    assert again == settings
    assert Words(again).fingerprint == Words(settings).fingerprint


def test_fingerprints_differ_with_the_settings() -> None:
    assert len({words.fingerprint for words in ANALYSERS}) == len(ANALYSERS)
    assert Words().fingerprint.startswith("words-1:english:snowball-")


def test_languages_by_code_and_name() -> None:
    assert WordSettings(language="EN") == WordSettings()
    assert WordSettings(language="de").language == "german"
    assert language_name("nb") == "norwegian"


@pytest.mark.parametrize(
    "arguments",
    [
        {"language": "klingon"},
        {"language": 3},
        {"language": "none"},
        {"stem": 1},
        {"stop_words": "the"},
        {"stop_words": None},
        {"stop_words": ("a", 3)},
        {"stop_words": ("a", " ")},
        {"stop_words": tuple(map(str, range(limits.MAX_STOP_WORDS + 1)))},
        {"language": "tamil", "drop_stop_words": True},
        {"keep_numbers": "yes"},
        {"grams": 2},
        {"grams": 7},
        {"grams": True},
        {"grams": "4"},
        {"grams": 4.0},
    ],
)
def test_bad_settings_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        WordSettings(**arguments)  # type: ignore[arg-type]


def test_foreign_json_is_refused() -> None:
    good = WordSettings().to_json()
    for bad in ({**good, "kind": "sae"}, {**good, "version": "1"}, {**good, "version": True}, {**good, "extra": 1}, {}):
        with pytest.raises(InvalidInput):
            WordSettings.from_json(bad)
    with pytest.raises(FormatTooNew):
        WordSettings.from_json({**good, "version": 2})


def test_what_words_says_of_itself() -> None:
    vocabulary = Words()
    assert (vocabulary.kind, vocabulary.term_kind, vocabulary.tf_kind) == ("words", "str", "count")
    assert vocabulary.to_json() == WordSettings().to_json()
