from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from zipfian.cli._html import html_to_text
from zipfian.cli._read import Bad, Document, read
from zipfian.errors import IndexNotFound, InvalidInput
from zipfian.limits import MAX_TEXT_CHARS


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def good(found: list[Document | Bad]) -> list[Document]:
    assert [item for item in found if isinstance(item, Bad)] == []
    return [item for item in found if isinstance(item, Document)]


def bad(found: list[Document | Bad]) -> list[Bad]:
    return [item for item in found if isinstance(item, Bad)]


def test_a_folder_gives_its_text_files_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "# B")
    write(tmp_path / "a.txt", "A")
    write(tmp_path / "sub" / "c.RST", "C")
    write(tmp_path / "sub" / "d.py", "x = 1")
    write(tmp_path / "paper.pdf", b"%PDF")
    write(tmp_path / ".hidden.txt", "no")
    write(tmp_path / ".git" / "x.txt", "no")
    found = good(list(read(tmp_path)))
    assert [d.id for d in found] == ["a.txt", "b.md", "sub/c.RST", "sub/d.py"]
    assert found[2] == Document("sub/c.RST", "C", {"path": "sub/c.RST", "type": "rst"}, str(tmp_path / "sub" / "c.RST"))
    assert found[0].to_dict() == {"id": "a.txt", "text": "A", "metadata": {"path": "a.txt", "type": "txt"}}


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "A")
    os.symlink(tmp_path, tmp_path / "loop")
    assert [d.id for d in good(list(read(tmp_path)))] == ["a.txt"]


def test_a_single_file_is_one_document(tmp_path: Path) -> None:
    assert [d.id for d in good(list(read(write(tmp_path / "a.txt", "A"))))] == ["a.txt"]


def test_bom_and_line_ends_are_not_part_of_the_text(tmp_path: Path) -> None:
    (document,) = good(list(read(write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\ntwo"))))
    assert document.text == "one\ntwo"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"caf\xe9", "not UTF-8 (byte 3)"), ("wide".encode("utf-16"), "not UTF-8"), ("wide".encode("utf-16-le"), "NUL")],
)
def test_what_is_not_text_is_named(content: bytes, problem: str, tmp_path: Path) -> None:
    write(tmp_path / "good.txt", "fine")
    path = write(tmp_path / "bad.txt", content)
    found = list(read(tmp_path))
    (item,) = bad(found)
    assert (item.where, item.id) == (str(path), "bad.txt")
    assert problem in item.problem
    assert len(found) == 2


def test_a_file_over_the_limit_is_named_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as f:
        f.truncate(4 * MAX_TEXT_CHARS + 1)
    (item,) = bad(list(read(tmp_path)))
    assert "limit" in item.problem


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    os.symlink(tmp_path / "gone", tmp_path / "dangling.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert {(Path(b.where).name, b.problem) for b in bad(list(read(tmp_path)))} == {
        ("dangling.txt", "No such file or directory"),
        ("pipe.txt", "not a regular file"),
    }


def test_a_source_that_is_not_there_or_of_no_known_kind(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="no such file or folder"):
        read(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match=r"\.jsonl"):
        read(write(tmp_path / "x.docx", "x"))


def test_jsonl(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "one", "lang": "en", "none": None},
        {"_id": 7, "title": "Two", "text": "two", "metadata": {"year": 2020}},
        {"text": "three"},
    ]
    path = write(tmp_path / "d.jsonl", "\n\n".join(map(json.dumps, lines)))
    assert [(d.id, d.text, d.metadata) for d in good(list(read(path)))] == [
        ("a", "one", {"lang": "en"}),
        ("7", "Two\n\ntwo", {"year": 2020, "title": "Two"}),
        ("d.jsonl:5", "three", {}),
    ]


def test_jsonl_with_named_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", '{"key": "k1", "body": "b"}\n{"body": "b"}')
    first, second = read(path, id_field="key", text_field="body")
    assert isinstance(first, Document)
    assert (first.id, first.text) == ("k1", "b")
    assert isinstance(second, Bad)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not JSON"),
        (b"[1]", "object was expected"),
        (b"\xff{}", "not UTF-8"),
        (b'{"id": "a"}', "no text in field 'text'"),
        (b'{"id": "a", "text": 3}', "no text in field 'text'"),
        (b'{"id": [1], "text": "x"}', "the id must be"),
        (b'{"id": true, "text": "x"}', "the id must be"),
        (b'{"id": "a", "text": "x", "metadata": 3}', "'metadata' must be"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_of_jsonl_is_named_and_the_rest_is_read(line: bytes, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", b'{"id": "1", "text": "x"}\n' + line + b'\n{"id": "3", "text": "x"}\n')
    found = list(read(path))
    (item,) = bad(found)
    assert item.where == f"{path}:2"
    assert problem in item.problem
    assert [d.id for d in found if isinstance(d, Document)] == ["1", "3"]


@pytest.mark.parametrize(("name", "comma"), [("d.csv", ","), ("d.tsv", "\t")])
def test_csv(name: str, comma: str, tmp_path: Path) -> None:
    rows = [("id", "text", "lang"), ("a", '"one\ntwo"', "en"), ("b", "x", "")]
    path = write(tmp_path / name, "\r\n".join(comma.join(row) for row in rows))
    assert [(d.id, d.text, d.metadata) for d in good(list(read(path)))] == [
        ("a", "one\ntwo", {"lang": "en"}),
        ("b", "x", {"lang": ""}),
    ]


def test_a_long_field_of_csv_is_read(tmp_path: Path) -> None:
    (document,) = good(list(read(write(tmp_path / "d.csv", "id,text\na," + "x" * 300_000))))
    assert len(document.text) == 300_000


def test_csv_rows_of_the_wrong_length_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", "id,text\na,x\nb\nc,x,y\nd,x\n")
    assert [b.where for b in bad(list(read(path)))] == [f"{path}:3", f"{path}:4"]


def test_csv_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (item,) = bad(list(read(write(tmp_path / "d.csv", b"id,text\na,caf\xe9\n"))))
    assert "not UTF-8" in item.problem


@pytest.mark.parametrize("content", ["", "name,body\na,b\n"])
def test_csv_without_a_text_column(content: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--text-field"):
        list(read(write(tmp_path / "d.csv", content)))


def test_html() -> None:
    page = """<html><head><title>A &amp; B</title><style>p {}</style></head>
    <body><h1>Head</h1><p>One <b>bo</b>ld<br>two<script>evil()</script></p><ul><li>x<li>y</ul><p/>end</body>"""
    assert html_to_text(page) == ("A & B", "A & B\nHead\nOne bold\ntwo\nx\ny\nend")


def test_html_that_is_broken_is_still_read() -> None:
    assert html_to_text("<p>a<b>c</p></script>d < e <")[1] == "ac\nd < e <"


def test_an_html_file_keeps_its_title(tmp_path: Path) -> None:
    (document,) = good(list(read(write(tmp_path / "p.html", "<title>T</title><p>x"))))
    assert (document.text, document.metadata["title"]) == ("T\nx", "T")
