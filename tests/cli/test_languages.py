"""`zipfian index` and `zipfian search` on notes in other languages than English."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.cli.conftest import Command, Toys
from tests.collection.test_languages import CHINESE, ENGLISH, GERMAN
from zipfian.cli import _fields
from zipfian.fields import Words
from zipfian.ingest import Survey

HINDI = "यह एक छोटा सा गाँव है और यहाँ के लोग खेती करते हैं।"


@pytest.fixture
def german(tmp_path: Path) -> Path:
    folder = tmp_path / "notizen"
    folder.mkdir()
    for name, text in GERMAN.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def english_only(toys: Toys) -> Toys:
    """The toy says what the real encoder says."""
    toys.text.languages = frozenset({"en"})  # type: ignore[attr-defined]
    return toys


def words_of(path: Path) -> Words:
    with zf.Collection.open(path) as made:
        field = made.fields["words"]
    assert isinstance(field, Words)
    return field


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            list(GERMAN.values()),
            "fields: words, multilingual (3 texts, most of them in German; --fields words is instant and needs no "
            "weights)",
        ),
        ([HINDI], "fields: words (1 text, most of them in Hindi)"),
        (
            list(ENGLISH.values()) + list(CHINESE.values()),
            "fields: words, latent, multilingual (3 texts; --fields words is instant and needs no weights)",
        ),
        (
            list(ENGLISH.values()),
            "fields: words, latent, dense (2 texts; --fields words is instant and needs no weights)",
        ),
    ],
)
def test_the_choice_of_fields_in_one_line(monkeypatch: pytest.MonkeyPatch, texts: list[str], said: str) -> None:
    monkeypatch.setattr(_fields, "installed", lambda modules: True)
    survey = Survey(len(texts), len(texts), 0, 0, sum(map(len, texts)), tuple(texts))
    assert str(_fields.choose(survey)) == said


def test_the_choice_beside_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fields, "installed", lambda modules: True)
    choice = _fields.choose(Survey(5, 3, 2, 0, 200, tuple(GERMAN.values())))
    assert choice.fields == ("words", "multilingual", "visual", "dense-image", "aligned", "translated")


def test_a_folder_of_notes_is_indexed_with_one_note_and_searched_with_another(
    tmp_path: Path, german: Path, zipfian: Command, english_only: Toys
) -> None:
    path = tmp_path / "n.zf"
    code, out, err = zipfian("index", german, "--into", path, "--fields", "words,latent")
    assert code == 0 and "3 added" in out
    assert err.count("texts in German are left out of the field latent, whose encoder reads English only") == 1
    code, out, err = zipfian("search", path, "Haus mit rotem Dach")
    assert code == 0 and "haus.txt" in out and "brot.txt" not in out
    assert "latent took no part: its encoder does not read German" in err
    assert set(GERMAN.values()).isdisjoint(english_only.text.seen)


@pytest.mark.parametrize(("given", "language"), [("de", "german"), ("German", "german"), ("auto", "auto")])
def test_a_language_is_named_for_the_words(
    tmp_path: Path, german: Path, zipfian: Command, toys: Toys, given: str, language: str
) -> None:
    path = tmp_path / "n.zf"
    code, _, err = zipfian("index", german, "--into", path, "--fields", "words", "--language", given)
    assert code == 0, err
    assert words_of(path).settings.language == language
    code, out, _ = zipfian("search", path, "Haus")
    assert code == 0 and "haus.txt" in out


def test_no_language_leaves_words_as_they_are(tmp_path: Path, german: Path, zipfian: Command, toys: Toys) -> None:
    path = tmp_path / "n.zf"
    code, _, err = zipfian("index", german, "--into", path, "--fields", "words", "--language", "none")
    assert code == 0, err
    assert (words_of(path).settings.language, words_of(path).settings.stem) == ("none", False)
    _, out, err = zipfian("search", path, "Haus")
    assert "haus.txt" not in out and "no document shares a term" in err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--fields", "words", "--language", "germen"], "unknown language 'germen': use 'auto'"),
        (["--fields", "latent", "--language", "de"], "--language is about words, and the fields are latent"),
    ],
)
def test_a_language_that_cannot_be_is_refused_before_anything_is_made(
    tmp_path: Path, german: Path, zipfian: Command, toys: Toys, options: list[str], problem: str
) -> None:
    code, _, err = zipfian("index", german, "--into", tmp_path / "n.zf", *options)
    assert code == 1 and problem in err
    assert not (tmp_path / "n.zf").exists()


def test_the_language_of_a_collection_that_is_there_stays(
    tmp_path: Path, german: Path, zipfian: Command, toys: Toys
) -> None:
    path = tmp_path / "n.zf"
    assert zipfian("index", german, "--into", path, "--fields", "words")[0] == 0
    code, _, err = zipfian("index", german, "--into", path, "--language", "de")
    assert code == 1 and "--language is for a new collection" in err and "leave it out" in err
    assert words_of(path).settings.language == "auto"
    code, _, err = zipfian("index", "--into", path, "--add-field", "latent", "--language", "de")
    assert code == 1 and "--language is of the words of a new collection" in err
    assert zipfian("index", german, "--into", path)[0] == 0, "it was closed and can be written"
