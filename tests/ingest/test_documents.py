"""PDF and Word files: read by a process of their own, which may be ended."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.loading import load
from zipfian.errors import MissingExtra
from zipfian.ingest.documents import Documents
from zipfian.ingest.source import BadItem, FoundDocument, open_source

(made,) = load("mixed_folder")
WORD, archive, docx, pdf, pdf_bomb = made.WORD, made.archive, made.docx, made.pdf, made.pdf_bomb

NO_PYPDF = "NO PDF TESTS: pypdf is not installed: pip install 'zipfian[documents]'"
needs_pypdf = pytest.mark.skipif(importlib.util.find_spec("pypdf") is None, reason=NO_PYPDF)


@pytest.fixture
def documents() -> Iterator[Documents]:
    with Documents() as opened:
        yield opened


def read(documents: Documents, folder: Path, name: str, content: bytes) -> FoundDocument | BadItem:
    path = folder / name
    path.write_bytes(content)
    return documents.read(path, name)


def problem(found: FoundDocument | BadItem) -> str:
    assert isinstance(found, BadItem), found
    return found.problem


@needs_pypdf
def test_a_pdf(documents: Documents, tmp_path: Path) -> None:
    found = read(documents, tmp_path, "a.pdf", pdf(["The first page.", "Größe (in mm)"], title="On size"))
    assert isinstance(found, FoundDocument)
    assert found.text == "The first page.\n\nGröße (in mm)"
    assert found.metadata == {"path": "a.pdf", "type": "pdf", "pages": 2, "title": "On size", "author": "Ann Example"}


def test_a_word_file(documents: Documents, tmp_path: Path) -> None:
    found = read(documents, tmp_path, "a.DOCX", docx(["First & last.", "Second."], title="On words"))
    assert isinstance(found, FoundDocument)
    assert found.text == "First & last.\nSecond."
    assert found.metadata == {"path": "a.DOCX", "type": "docx", "title": "On words", "author": "Ann Example"}


def test_what_is_no_text_of_a_word_file(documents: Documents, tmp_path: Path) -> None:
    body = (
        "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t></w:r>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        '<mc:x xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
        "<mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:x>"
    )
    found = read(documents, tmp_path, "a.docx", docx([], body=body))
    assert isinstance(found, FoundDocument) and found.text == "One\ttwo\nthree\nbox"


@needs_pypdf
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pdf(["x"], encrypt=True), "encrypted: it opens only with a password"),
        (pdf(["", ""]), "no text in its 2 pages; where they are scanned, run OCR over them first"),
        (b"no PDF at all", "not PDF, or damaged"),
        (b"", "not PDF, or damaged"),
        (pdf(["x"])[:200], "damaged"),
    ],
)
def test_pdf_that_cannot_be_read(content: bytes, said: str, documents: Documents, tmp_path: Path) -> None:
    assert said in problem(read(documents, tmp_path, "bad.pdf", content))
    after = read(documents, tmp_path, "good.pdf", pdf(["Fine."]))
    assert isinstance(after, FoundDocument) and after.text == "Fine."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xd0\xcf\x11\xe0" + b"x" * 100, "encrypted, or an old .doc; save it as .docx"),
        (b"no zip", "not a Word file, or damaged"),
        (archive({"other.xml": "<x/>"}), "not a Word file, or damaged"),
        (archive({"word/document.xml": "<x>"}), "damaged (no element found"),
        (docx([]), "no text in it"),
        (docx(["x"])[:-40], "not a Word file, or damaged"),
        (
            archive({"word/document.xml": f'<!DOCTYPE x [<!ENTITY a "b">]><w:p xmlns:w="{WORD}"><w:t>&a;</w:t></w:p>'}),
            "declares a document type",
        ),
    ],
)
def test_word_files_that_cannot_be_read(content: bytes, said: str, documents: Documents, tmp_path: Path) -> None:
    assert said in problem(read(documents, tmp_path, "bad.docx", content))
    after = read(documents, tmp_path, "good.docx", docx(["Fine."]))
    assert isinstance(after, FoundDocument) and after.text == "Fine."


def test_a_word_file_that_unpacks_to_too_much(
    documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr("zipfian.ingest.documents.MAX_DOCUMENT_UNPACKED", 1_000_000)
    assert "unpacks to more than 1,000,000 bytes" in problem(
        read(documents, tmp_path, "bad.docx", docx([], body="<w:p/>" * 200_000))
    )


def test_texts_and_pages_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.documents.MAX_TEXT_CHARS", 10)
    monkeypatch.setattr("zipfian.ingest.documents.MAX_DOCUMENT_PAGES", 3)
    with Documents() as documents:
        assert "more characters" in problem(read(documents, tmp_path, "a.docx", docx(["x" * 11])))
        if importlib.util.find_spec("pypdf") is not None:
            assert "4 pages, more than the limit of 3" in problem(read(documents, tmp_path, "a.pdf", pdf(["x"] * 4)))
            assert "more than 10 characters" in problem(read(documents, tmp_path, "a.pdf", pdf(["x" * 9, "yy"])))


@needs_pypdf
def test_a_file_that_takes_too_long_is_left(tmp_path: Path) -> None:
    with Documents(seconds=1.5) as documents:
        start = time.monotonic()
        assert "takes more than 1.5 seconds" in problem(read(documents, tmp_path, "slow.pdf", pdf_bomb(40_000_000)))
        assert time.monotonic() - start < 10
    with Documents() as documents:
        assert isinstance(read(documents, tmp_path, "good.pdf", pdf(["Fine."])), FoundDocument)


@needs_pypdf
def test_memory_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.documents.MAX_DOCUMENT_MEMORY", 128 * 1024 * 1024)
    with Documents() as documents:
        assert problem(read(documents, tmp_path, "big.pdf", pdf_bomb(60_000_000))) == "it takes too much memory"
        assert isinstance(read(documents, tmp_path, "good.pdf", pdf(["Fine."])), FoundDocument)


def test_a_reader_that_dies_is_named_and_another_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = tmp_path / "dying.py"
    dying.write_text("import sys; sys.stdin.buffer.readline(); sys.exit(9)")
    with Documents() as documents:
        with monkeypatch.context() as patched:
            patched.setattr("zipfian.ingest.documents.CHILD", dying)
            assert "its reader died" in problem(read(documents, tmp_path, "a.docx", docx(["x"] * 1_000)))
        assert isinstance(read(documents, tmp_path, "a.docx", docx(["Fine."])), FoundDocument)


def test_without_the_package(documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.errors.importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'zipfian\[documents\]'"):
        read(documents, tmp_path, "a.pdf", pdf(["x"]))
    (tmp_path / "b.txt").write_text("Text.")
    bad, good = open_source(tmp_path)
    assert isinstance(bad, BadItem) and isinstance(good, FoundDocument)
    assert "zipfian[documents]" in bad.problem


def test_documents_in_a_folder_and_alone(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.docx").write_bytes(docx(["One."]))
    (found,) = open_source(tmp_path)
    assert isinstance(found, FoundDocument) and (found.id, found.text) == ("sub/a.docx", "One.")
    (alone,) = open_source(tmp_path / "sub" / "a.docx")
    assert isinstance(alone, FoundDocument) and (alone.id, alone.text) == ("a.docx", "One.")
    survey = open_source(tmp_path).survey()
    assert (survey.items, survey.texts, survey.chars, survey.sample) == (1, 1, 4, ("One.",))
