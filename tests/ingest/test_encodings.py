"""The encoding of a text is found in its bytes; what is damaged or of another kind is named, not turned into signs."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from zipfian.ingest.encodings import encoding_of
from zipfian.ingest.source import BadItem, FoundDocument, open_source

LETTER = "“Das Café ist schön”, sagte er – und bezahlte 5 €."
RUSSIAN = "Привет, это письмо 2024 года, и в нём есть words in English."


def read(path: Path, content: bytes) -> FoundDocument | BadItem:
    path.write_bytes(content)
    (found,) = open_source(path)
    return found


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"plain", "utf-8-sig"),
        (b"", "utf-8-sig"),
        (LETTER.encode(), "utf-8-sig"),
        (LETTER.encode("utf-8-sig"), "utf-8-sig"),
        (LETTER.encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + LETTER.encode("utf-16-be"), "utf-16"),
        (LETTER.encode("cp1252"), "cp1252"),
        ("È già “così”".encode("cp1252"), "cp1252"),
        (b"caf\xe9\r\n\tend\x0c", "cp1252"),
        ("Titel\n————————\nÄpfel".encode("cp1252"), "cp1252"),
        ("þýðing úr íslensku er erfið".encode("cp1252"), "cp1252"),
    ],
)
def test_what_a_text_is_written_in(content: bytes, expected: str) -> None:
    assert encoding_of(lambda: [content]) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"caf\xe9\x00",
        b"caf\xe9 \x1b[2J",
        b"caf\xe9\x7f",
        b"caf\xe9 \x81",
        b"\xff",
        b"\xe9\xe8 a",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        RUSSIAN.encode("cp1251"),
        RUSSIAN.encode("koi8-r"),
        ("Ελληνικό κείμενο, words and more words in English beside it").encode("cp1253"),
        ("中文文本 with enough English words around them").encode("gbk"),
    ],
)
def test_what_only_could_be_windows_1252_is_not_taken_for_it(content: bytes) -> None:
    assert encoding_of(lambda: [content]) == "utf-8-sig"
    with pytest.raises(UnicodeDecodeError):
        content.decode("utf-8-sig")


@pytest.mark.parametrize("broken", [b"\xe9", b"\xff", b"\xc3", b"\xe2\x80"])
def test_damaged_utf_8_stays_utf_8(broken: bytes, tmp_path: Path) -> None:
    half = "Das Café ist schön. "
    content = half.encode() + broken + b" and " + half.encode()
    item = read(tmp_path / "a.txt", content)
    assert isinstance(item, BadItem)
    assert item.problem == f"not UTF-8 (byte {len(half.encode()):,})"


def test_damage_is_told_by_the_whole_text_and_not_by_its_beginning() -> None:
    """A capital and the hard space of French are UTF-8 by chance; a text of one letter and ten bytes that are none."""
    chance = "CAFÉ\xa0: ".encode("cp1252")
    assert "É\xa0".encode("cp1252").decode() == "ɠ"
    assert encoding_of(lambda: [chance + b"une caf\xe9, " * 10]) == "cp1252"
    assert encoding_of(lambda: [chance + b"une caf\xe9, " * 9]) == "utf-8-sig"
    assert encoding_of(lambda: [b"une caf\xe9, " * 9, "é".encode()]) == "utf-8-sig", "also when it ends with a letter"


def test_a_mark_of_utf_8_is_believed() -> None:
    assert encoding_of(lambda: [b"\xef\xbb\xbf" + b"une caf\xe9, " * 20]) == "utf-8-sig"


def test_accents_in_threes_are_another_script() -> None:
    alone, run = b"a\xe9 ", b"abc\xe0\xe9\xe8 "
    assert encoding_of(lambda: [alone * 3 + run]) == "cp1252", "3 of 6"
    assert encoding_of(lambda: [alone * 2 + run]) == "utf-8-sig", "3 of 5"


def test_blocks_share_a_letter() -> None:
    assert encoding_of(lambda: [b"12345\xc3", b"\xa9 end"]) == "utf-8-sig"
    assert encoding_of(lambda: [b"caf\xe9 ", b"1234567\xc3"]) == "cp1252"
    assert encoding_of(lambda: ["é".encode() + b"12345", b"678\xe9."]) == "utf-8-sig"
    assert encoding_of(lambda: [b"caf\xe9 ", b"\x00"]) == "utf-8-sig"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.html"])
def test_a_file_in_windows_1252_is_read_and_says_so(name: str, tmp_path: Path) -> None:
    item = read(tmp_path / name, LETTER.encode("cp1252"))
    assert isinstance(item, FoundDocument)
    assert (item.text, item.guessed) == (LETTER, str(tmp_path / name))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_is_known_is_no_guess(encoding: str, tmp_path: Path) -> None:
    item = read(tmp_path / "a.txt", LETTER.encode(encoding))
    assert isinstance(item, FoundDocument)
    assert (item.text, item.guessed) == (LETTER, None)


def test_a_caption_in_windows_1252(tmp_path: Path) -> None:
    (tmp_path / "cafe.jpg").write_bytes(b"not opened yet")
    (tmp_path / "cafe.txt").write_bytes("Das Café".encode("cp1252"))
    (item,) = open_source(tmp_path)
    assert isinstance(item, FoundDocument)
    assert (item.text, item.guessed) == ("Das Café", str(tmp_path / "cafe.txt"))


def test_files_are_counted_and_not_records(tmp_path: Path) -> None:
    source = tmp_path / "stuff"
    source.mkdir()
    (source / "a.txt").write_bytes(b"caf\xe9")
    (source / "b.txt").write_text("Café", encoding="utf-8")
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        done = collection.sync(source)
        assert (done.windows_1252, str(done)) == (1, "2 added, 1 file read as Windows-1252")
        (source / "c.csv").write_bytes("id;text\n1;Café\n2;Köln\n3;plain\n".encode("cp1252"))
        done = collection.sync(source)
        assert (done.windows_1252, str(done)) == (2, "3 added, 2 unchanged, 2 files read as Windows-1252")
        assert collection.get("a.txt").text == "café"
        assert collection.get("c.csv:2").text == "Köln"
