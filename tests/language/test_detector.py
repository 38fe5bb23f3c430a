"""Which language a text is in: sentences, short queries, priors, scripts, and what is no text at all."""

from __future__ import annotations

import math
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.sentences import SENTENCES
from zipfian import limits
from zipfian.errors import InvalidInput
from zipfian.language import NAMES, Detected, detect, detector_version, probabilities

GERMAN = {"de": 900, "en": 12}


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_sentences(language: str) -> None:
    for sentence in SENTENCES[language]:
        assert detect(sentence).language == language, sentence
        assert detect(sentence, {language: 3}).language == language


@pytest.mark.parametrize(
    "query", ["machine learning", "breast cancer", "red wine", "New York", "spare key", "how to cook rice"]
)
def test_a_short_query_is_english_unless_a_collection_says_otherwise(query: str) -> None:
    assert detect(query).language == "en"


@pytest.mark.parametrize("query", ["vitamin D", "omega 3", "C++"])
def test_what_could_be_many_languages_is_none_until_a_collection_tells(query: str) -> None:
    found = detect(query)
    assert found.language is None
    assert 0 < found.confidence < 0.5
    assert detect(query, GERMAN).language == "de"


def test_a_prior_does_not_hide_another_language() -> None:
    assert detect("where is the train station", {"de": 1}).language == "en"
    assert detect("Поезд опоздал", {"de": 1}).language == "ru"


def test_a_prior_is_combined_as_bayes_says() -> None:
    text = "El Niño"
    likely = probabilities(text)
    one, two = detect(text, {"gl": 1, "es": 1}), detect(text, {"gl": 1, "es": 9})
    assert likely["gl"] > likely["es"]
    assert (one.language, two.language) == ("gl", "es")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("東京大学の入学試験", "ja"),
        ("カタカナ", "ja"),
        ("ｶﾀｶﾅ", "ja"),
        ("北京大學位於海淀區", "zh"),
        ("他说「の」是一个日文字，这句话却是中文写的没有别的意思", "zh"),
        ("Windows の設定方法", "ja"),
        ("iPhone 사용법", "ko"),
        ("วิธีใช้งาน Microsoft Excel", "th"),
        ("Das Zeichen 東京 steht für die Hauptstadt von Japan", "de"),
        ("ｔｈｅ　ｔｒａｉｎ　ａｒｒｉｖｅｄ　ｌａｔｅ", "en"),
        ("\u202bהרכבת איחרה\u202c", "he"),
        ("THE TRAIN ARRIVED LATE", "en"),
    ],
)
def test_scripts_decide_where_they_can(text: str, language: str) -> None:
    assert detect(text).language == language


def test_han_alone_is_chinese_or_what_the_collection_is() -> None:
    assert detect("東京").language == "zh"
    assert detect("東京", {"ja": 40}).language == "ja"
    long = "中國歷史上最長的城牆是萬里長城位於北方" * 3
    assert detect(long, {"ja": 40, "zh": 1}).language == "zh"


@pytest.mark.parametrize("text", ["", " ", "1984", "3.14 + 2 = ?", "🎉🎉", "\ud800", "\u200f\u200e", "ᏣᎳᎩ"])
def test_no_language(text: str) -> None:
    assert detect(text) == Detected(None, 0.0)
    assert detect(text, GERMAN) == Detected(None, 0.0)
    assert probabilities(text) == {}


@given(st.one_of(st.text(), st.text(st.characters(codec=None), max_size=20)))
def test_any_text_has_an_answer(text: str) -> None:
    found = detect(text)
    assert found == detect(text)
    assert found.language is None or found.language in NAMES
    assert 0.0 <= found.confidence <= 1.0
    likely = probabilities(text)
    assert not likely or math.isclose(math.fsum(likely.values()), 1.0)
    assert all(code in NAMES and p >= 0 for code, p in likely.items())


@pytest.mark.parametrize("text", ["word " * 1_000_000, "x" * 5_000_000, "中" * 1_000_000, "\u0301" * 1_000_000])
def test_a_long_text_is_read_in_few_places(text: str) -> None:
    assert detect(text).language in (*NAMES, None)


def test_the_end_of_a_long_text_counts() -> None:
    english, german = (" ".join(SENTENCES[code]) for code in ("en", "de"))
    text = english + " " + " ".join([german] * 50)
    assert len(text) > 4 * limits.MAX_DETECTED_CHARS
    assert detect(text).language == "de"
    assert detect("1 " * 5_000 + german * 30).language == "de"


@pytest.mark.parametrize("prior", [{"de": -1}, {"de": math.nan}, {"de": math.inf}, {"de": "1"}, {"de": True}])
def test_a_bad_prior_is_refused(prior: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="the prior of 'de' must be"):
        detect("Haus", prior)


@pytest.mark.parametrize("prior", [{}, {"de": 0}, {"tlh": 5}])
def test_a_prior_that_says_nothing_is_none(prior: dict[str, float]) -> None:
    assert detect("spare key", prior) == detect("spare key")


@pytest.mark.parametrize("bad", [None, b"text", 3])
def test_what_is_no_string_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput, match="must be a string"):
        detect(bad)


def test_threads_agree() -> None:
    texts = [sentence for pair in SENTENCES.values() for sentence in pair]
    expected = [detect(text) for text in texts]
    found: list[list[Detected]] = []
    threads = [threading.Thread(target=lambda: found.append([detect(text) for text in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_model_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys, zipfian.language as l; l.detect('한국어'); l.detect('12'); assert 'py3langid' not in sys.modules;"
        "l.detect('hello'); assert 'py3langid' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version_names_the_model() -> None:
    assert detector_version() == "1-langid-0.4"
