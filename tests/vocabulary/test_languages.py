"""Words of many languages: what finds what, and texts of several languages in one collection."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.sentences import SENTENCES
from zipfian.errors import InvalidInput
from zipfian.language import NAMES, detect
from zipfian.vocabulary import Words, WordSettings
from zipfian.vocabulary.stemming import LANGUAGES, has_stemmer, language_name

AUTO = Words(WordSettings(language="auto"))
LANGUAGE_OF_TEXTS = st.sampled_from(["en", "de", "tr", "ko", "hi", "ja", "none", "arabic"])
FRAGMENTS = ["running", "Häuser", "ISPARTA", "학교에서", "लड़कों", "東京", "\u0301", " ", "l'eau", "-"]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(FRAGMENTS)).map("".join))


@pytest.mark.parametrize(
    ("language", "query", "document"),
    [
        ("ar", "مدرسة", "ذهب الطلاب إلى المدرسة"),
        ("ar", "احمد", "كتب أحمد رسالة"),
        ("ar", "كتاب", "قرأت الكـــتاب كِتَاب"),
        ("bg", "град", "градът, големият град"),
        ("cs", "kniha", "četl knihy"),
        ("da", "huse", "et hus ved vandet"),
        ("de", "Haus", "zwei Häuser am See"),
        ("de", "strasse", "die Straßen der Stadt"),
        ("el", "ΣΧΟΛΕΙΟ", "στο σχολείο"),
        ("es", "canción", "las canciones del verano"),
        ("et", "raamat", "loen raamatut"),
        ("fa", "کتاب", "كتاب خوب"),
        ("fa", "کتاب", "کتاب\u200cها را خواندم"),
        ("fi", "talo", "talossa on kylmä"),
        ("fr", "école", "les écoles de la ville"),
        ("fr", "avion", "l'avion est en retard"),
        ("he", "שָׁלוֹם", "שלום לכולם"),
        ("hi", "लड़का", "दो लड़के खेल रहे हैं"),
        ("hi", "सडक", "सड़क बंद है"),
        ("hi", "हिंदी", "हिन्दी भाषा"),
        ("hi", "माँ", "मां घर पर है"),
        ("hr", "knjiga", "čitam knjige"),
        ("hu", "ház", "a házban"),
        ("id", "makan", "makanan itu"),
        ("it", "libro", "i libri dell'arte"),
        ("ja", "東京大学", "彼は東京大学で学んだ"),
        ("ja", "サーバー", "ｻｰﾊﾞｰが止まった"),
        ("ja", "コンピュータ", "コンピューターを買う"),
        ("ko", "학교", "나는 학교에서 공부한다"),
        ("ko", "서울", "서울은 한국의 수도이다"),
        ("ko", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8 사람"),
        ("ko", "카카오톡", "카카오톡으로 보냈다"),
        ("ko", "api", "API를 쓴다"),
        ("nl", "huis", "de huizen"),
        ("no", "hus", "husene ved sjøen"),
        ("pl", "książka", "czytam książki"),
        ("pt", "cidade", "as cidades do norte"),
        ("ro", "carte", "cărțile mele"),
        ("ru", "книга", "на столе лежали книги"),
        ("ru", "ёлка", "под елкой"),
        ("sv", "bil", "bilarna på vägen"),
        ("ta", "வீடு", "வீடு பெரியது"),
        ("th", "รถไฟ", "สถานีรถไฟกรุงเทพ"),
        ("tr", "ev", "evlerde kimse yok"),
        ("tr", "İstanbul", "İstanbul'da yaşıyorum"),
        ("tr", "ISPARTA", "ısparta gülleri"),
        ("uk", "п\u2019ять", "П'ЯТЬ книг"),
        ("ur", "کتاب", "كتاب اچھی ہے"),
        ("ur", "یہ لاہور", "لاهور"),
        ("vi", "phở", "PHỞ bò"),
        ("zh", "长城", "万里长城在北方"),
    ],
)  # fmt: skip
def test_a_query_finds_another_form_of_its_words(language: str, query: str, document: str) -> None:
    for words in (AUTO, Words(WordSettings(language=language))):
        asked, there = words.query(query, language), words.counts(document, language)
        assert asked.keys() & there.keys(), (asked, there)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("vi", "ma", "má"),
        ("ru", "йод", "иод"),
        ("ko", "서울", "울산"),
        ("ja", "東京", "京都府"),
        ("th", "แมว", "หมา"),
        ("zh", "發展", "发展"),
        ("hi", "कम", "काम"),
        ("ar", "قلب", "كلب"),
    ],
)
def test_two_words_stay_two(language: str, one: str, other: str) -> None:
    pairs = {term for term in AUTO.counts(one, language) if len(term) > 1}
    assert pairs
    assert not pairs & AUTO.counts(other, language).keys()


def test_spellings_are_one_before_function_words_are_told() -> None:
    assert AUTO.query("كه کتاب", "fa") == AUTO.query("کتاب", "fa")
    plain = Words(WordSettings(language="fa", stem=False))
    assert plain.terms("علي كتاب") == plain.terms("علی کتاب")
    arabic = Words(WordSettings(language="ar", stem=False))
    assert arabic.terms("أحمد إلى مدرسة") == arabic.terms("احمد الى مدرسه")


def test_capitals_of_two_letters_i() -> None:
    for language in ("tr", "az"):
        words = Words(WordSettings(language=language, stem=False, fold_accents=False))
        assert words.terms("QIZIL İSTİ") == ["qızıl", "isti"]


def test_korean_words_are_pairs_of_syllables_in_their_places() -> None:
    text = "BM25를 학교에서"
    found = [(token.term, text[token.start : token.end]) for token in AUTO.tokenize(text, "ko")]
    syllables = ["를", "학", "학교", "교", "교에", "에", "에서", "서"]
    assert sorted(found) == sorted([("bm25", "BM25"), *((term, term) for term in syllables)])
    assert AUTO.query("학교에서", "ko") == {"학교": 1.0, "교에": 1.0, "에서": 1.0}
    assert AUTO.query("책", "ko").keys() <= AUTO.counts("책을 읽는다", "ko").keys()
    assert Words().terms(text) == ["bm25를", "학교에서"]


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_function_words_of_a_query_are_left_out(language: str) -> None:
    sentence = SENTENCES[language][1]
    asked = AUTO.query(sentence, language)
    assert asked
    assert asked.keys() <= AUTO.counts(sentence, language).keys()


def test_runs_of_letters_find_the_parts_of_a_compound() -> None:
    words = Words(WordSettings(language="german", grams=4))
    assert words.terms("Autos 1949 C++") == ["autos", "~auto", "~utos", "1949", "c++"]
    asked, there = words.query("das Fahrzeug"), words.counts("alle Kraftfahrzeuge")
    shared = asked.keys() & there.keys()
    assert shared == {"~fahr", "~ahrz", "~hrze", "~rzeu", "~zeug"}
    assert asked == {"fahrzeug": 1.0, **dict.fromkeys(shared, 0.2)}
    assert words.query("Fahrzeug Fahrzeug")["~zeug"] == 0.4
    (token,) = words.spans("alle Kraftfahrzeuge", {"~zeug"})
    assert (token.start, token.end) == (5, 19)
    assert Words(WordSettings(grams=4)).terms("mississippi").count("~issi") == 2


def test_settings_without_grams_are_as_they_were() -> None:
    assert "grams" not in WordSettings().to_json()
    assert WordSettings(grams=4).to_json()["grams"] == 4
    assert Words().fingerprint.endswith(":d9e9996cf76e")


# ---------------------------------------------------------------------- auto


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_auto_is_the_language_of_the_text(language: str) -> None:
    single = Words(WordSettings(language=language))
    for sentence in SENTENCES[language]:
        assert AUTO.terms(sentence) == single.terms(sentence)
        assert AUTO.query(sentence) == single.query(sentence)
        assert AUTO.tokenize(sentence, language) == single.tokenize(sentence)


def test_a_batch_of_many_languages_is_the_counts_of_each() -> None:
    texts = [sentence for pair in SENTENCES.values() for sentence in pair] + ["", "1984 🎉", "running shoes"]
    languages = [detect(text).language or "none" for text in texts]
    expected = [AUTO.counts(text) for text in texts]
    for batch in (AUTO.batch(texts), AUTO.batch(iter(texts), languages), AUTO.batch(texts, [None] * len(texts))):
        assert list(batch.terms) == sorted(batch.terms)
        for row, counts in enumerate(expected):
            span = slice(batch.indptr[row], batch.indptr[row + 1])
            found = {batch.terms[i]: int(n) for i, n in zip(batch.indices[span], batch.tf[span], strict=True)}
            assert found == counts


def test_the_same_chunk_has_the_terms_of_each_texts_language() -> None:
    batch = AUTO.batch(["die dies", "die dies"], ["en", "de"])
    rows = [[batch.terms[i] for i in batch.indices[a:b]] for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)]
    assert rows == [["die"], ["die", "dies"]]


@given(text=TEXTS, language=LANGUAGE_OF_TEXTS)
def test_all_ways_to_analyse_agree(text: str, language: str) -> None:
    tokens = AUTO.tokenize(text, language)
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert token.term in AUTO.terms(text[token.start : token.end], language)
    terms = [token.term for token in tokens]
    assert AUTO.terms(text, language) == terms
    counts = AUTO.counts(text, language)
    assert counts == {term: terms.count(term) for term in terms}
    batch = AUTO.batch([text], [language])
    assert dict(zip([batch.terms[i] for i in batch.indices], batch.tf.tolist(), strict=True)) == counts
    assert AUTO.spans(text, set(terms), language) == tokens
    assert AUTO.query(text, language).keys() <= counts.keys()


@given(text=st.one_of(TEXTS, st.text(st.characters(codec=None), max_size=20)))
def test_auto_never_fails(text: str) -> None:
    found = detect(text).language or "none"
    assert AUTO.terms(text) == AUTO.terms(text, found)
    assert AUTO.query(text) == AUTO.query(text, found)


def test_a_text_in_no_language_is_folded_only() -> None:
    assert AUTO.terms("Cafés running the", "none") == ["cafes", "running", "the"]
    assert AUTO.query("the running", "none") == {"the": 1.0, "running": 1.0}
    assert AUTO.query("the running", "en") == {"run": 1.0}


def test_a_language_without_a_stemmer_keeps_its_words() -> None:
    assert Words(WordSettings(language="welsh")).terms("Llyfrau") == ["llyfrau"]
    assert "unstemmed" in Words(WordSettings(language="ja")).fingerprint


def test_only_auto_listens_to_the_language_of_a_text() -> None:
    words = Words()
    assert words.terms("Häuser", "de") == words.terms("Häuser")
    assert words.batch(["Häuser"], ["de"]).terms == words.batch(["Häuser"]).terms


def test_one_text_given_as_counts() -> None:
    counts = AUTO.counts("Die Häuser", "de")
    batch = AUTO.batch([counts, "houses"], [None, "en"])
    assert list(batch.terms) == ["die", "haus", "hous"]


def test_too_few_languages_are_refused() -> None:
    with pytest.raises(InvalidInput, match="1 languages for more texts"):
        AUTO.batch(["a", "b"], ["en"])


def test_an_unknown_language_is_refused() -> None:
    for bad in ("klingon", "english-ish", ""):
        with pytest.raises(InvalidInput, match="unknown language"):
            AUTO.terms("a text", bad)


def test_every_language_that_can_be_detected_can_be_named() -> None:
    for code, name in NAMES.items():
        assert language_name(code) == language_name(name.title()) == name
        assert AUTO.terms("Zipf 1949", code)
        assert WordSettings(language=code).language == name
    assert language_name("pt-BR") == "portuguese"
    assert language_name("zh_Hant") == "chinese"


def test_neighbours_share_a_stemmer() -> None:
    assert has_stemmer("croatian")
    assert not has_stemmer("japanese")
    assert AUTO.terms("knjigama", "hr") == AUTO.terms("knjigama", "sr") != ["knjigama"]
    assert "croatian" not in LANGUAGES


def test_fingerprints_name_the_detector_and_changed_rules() -> None:
    assert AUTO.fingerprint.startswith("words-1:auto-1-langid-0.4.")
    assert ":snowball-" in AUTO.fingerprint
    assert Words(WordSettings(language="hindi")).fingerprint.startswith("words-1:hindi.2:snowball-")
    assert Words(WordSettings(language="german")).fingerprint.startswith("words-1:german:snowball-")


def test_settings_of_auto_survive_json() -> None:
    settings = WordSettings(language="AUTO", drop_stop_words=True)
    assert settings.language == "auto"
    assert WordSettings.from_json(settings.to_json()) == settings
    assert Words(settings).terms("The trains were late because of the rain") == ["train", "late", "rain"]


def test_threads_share_an_auto_analyser() -> None:
    words = Words(WordSettings(language="auto"))
    wrong: list[str] = []
    texts = [sentence for pair in SENTENCES.values() for sentence in pair]
    expected = [AUTO.terms(text) for text in texts]

    def work() -> None:
        wrong.extend(text for text, terms in zip(texts, expected, strict=True) if words.terms(text) != terms)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
