from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

import pytest

from zipfian.errors import IndexNotFound, InvalidInput, LimitExceeded
from zipfian.ingest.html import html_to_text
from zipfian.ingest.source import BadItem, FoundDocument, open_source
from zipfian.limits import MAX_TEXT_CHARS


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def good(found: list[FoundDocument | BadItem]) -> list[FoundDocument]:
    assert [item for item in found if isinstance(item, BadItem)] == []
    return [item for item in found if isinstance(item, FoundDocument)]


def bad(found: list[FoundDocument | BadItem]) -> list[BadItem]:
    return [item for item in found if isinstance(item, BadItem)]


def test_a_folder_gives_its_text_files_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "# B")
    write(tmp_path / "a.txt", "A")
    write(tmp_path / "sub" / "c.RST", "C")
    write(tmp_path / "sub" / "d.py", "x = 1")
    write(tmp_path / "program.exe", b"MZ")
    write(tmp_path / ".hidden.txt", "no")
    write(tmp_path / ".git" / "x.txt", "no")
    found = good(list(open_source(tmp_path)))
    assert [d.id for d in found] == ["a.txt", "b.md", "sub/c.RST", "sub/d.py"]
    where = str(tmp_path / "sub" / "c.RST")
    assert found[2] == FoundDocument("sub/c.RST", "C", {"path": "sub/c.RST", "type": "rst"}, where)
    assert found[0].to_dict() == {"id": "a.txt", "text": "A", "metadata": {"path": "a.txt", "type": "txt"}}


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "A")
    os.symlink(tmp_path, tmp_path / "loop")
    assert [d.id for d in good(list(open_source(tmp_path)))] == ["a.txt"]


def test_links_are_counted_and_followed_only_when_asked(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    write(outside / "secret.txt", "S")
    write(outside / "deep" / "more.txt", "M")
    write(inside / "a.txt", "A")
    os.symlink(outside / "secret.txt", inside / "link.txt")
    os.symlink(outside, inside / "way")
    os.symlink(outside, inside / "way2")
    os.symlink(inside, outside / "back")
    source = open_source(inside)
    assert [d.id for d in good(list(source.read()))] == ["a.txt"]
    assert source.found is not None and source.found.links == 3
    followed = open_source(inside, follow_links=True)
    assert [d.id for d in good(list(followed.read()))] == ["a.txt", "link.txt", "way/deep/more.txt", "way/secret.txt"]
    assert followed.found is not None and followed.found.links == 0


def test_links_that_multiply_paths_end(tmp_path: Path) -> None:
    """Twelve folders with links to all the others have millions of paths."""
    names = [f"d{i}" for i in range(12)]
    for name in names:
        write(tmp_path / name / "a.txt", "A")
    for name in names:
        for other in names:
            os.symlink(tmp_path / other, tmp_path / name / f"to-{other}")
    found = open_source(tmp_path, follow_links=True).found
    assert found is not None and len(found.texts) == 12


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.txt", "A")
    write(tmp_path / "locked" / "b.txt", "B")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = list(open_source(tmp_path))
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["a.txt"]
    assert "cannot be listed (Permission denied)" in bad(found)[0].problem


def test_a_line_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.lines.MAX_READ_BYTES", 50)
    exact = json.dumps({"id": "b", "text": "x" * 25}) + "\n"
    assert len(exact) == 50 - 1
    long = json.dumps({"id": "c", "text": "x" * 300}) + "\n"
    path = write(
        tmp_path / "a.jsonl", '{"id": "a", "text": "one"}\n' + long + exact + long + '{"id": "d", "text": "t"}'
    )
    found = list(open_source(path))
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["a", "b", "d"]
    assert [b.where for b in bad(found)] == [f"{path}:2", f"{path}:4"]
    assert "a line of more than" in bad(found)[0].problem


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "x", "text": "t", "a": [' + "[]," * 400_000 + "[]]}",
        '{"id": "x", "text": "t", "a": [' + '"ab",' * 1_100_000 + '""]}',
        '{"id": "x", "text": "' + '\\"' * 600_000 + "," * 1_100_000,
    ],
)
def test_a_record_of_too_many_values_is_named(line: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line + '\n{"id": "b", "text": "fine"}\n')
    first, second = open_source(path)
    assert isinstance(first, BadItem) and isinstance(second, FoundDocument)
    assert "values for one document" in first.problem or "not JSON" in first.problem


def test_a_long_text_with_many_commas_and_quotes_is_no_bomb(tmp_path: Path) -> None:
    text = 'she said, "well", [and] {so} on\\ ' * 60_000
    (document,) = good(list(open_source(write(tmp_path / "a.jsonl", json.dumps({"id": "x", "text": text})))))
    assert document.text == text


def test_csv_rows_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.lines.MAX_READ_BYTES", 5_000)
    rows = 'id,text\na,one\nb,"never closed\n' + "more,text\n" * 1_000
    found = list(open_source(write(tmp_path / "a.csv", rows)))
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["a"]
    assert "is a quote not closed?" in bad(found)[0].problem
    many = "id,text\n" + "".join(f"{i},{'x' * 90}\n" for i in range(500))
    assert len(good(list(open_source(write(tmp_path / "b.csv", many))))) == 500


def test_csv_rows_before_one_that_is_no_text_are_read(tmp_path: Path) -> None:
    found = list(open_source(write(tmp_path / "a.csv", "id,text\na,öne\n".encode() + b"b,caf\xe9\nc,three\n")))
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["a"]
    assert bad(found)[0].problem == "not UTF-8; the rows from there on were not read"
    assert bad(found)[0].where.endswith(":3")
    assert bad(found)[0].rest


def test_csv_with_too_many_separators_or_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.lines.MAX_RECORD_SEPARATORS", 1_000)
    found = list(open_source(write(tmp_path / "a.csv", "id,text\na,one\nb" + "," * 2_000 + "\n")))
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["a"]
    assert "more than 1,000 separators" in bad(found)[0].problem
    monkeypatch.undo()
    header = "id,text," + ",".join(f"c{i}" for i in range(5_000))
    with pytest.raises(LimitExceeded, match="5,002 columns"):
        list(open_source(write(tmp_path / "b.csv", header + "\n")))
    with pytest.raises(InvalidInput) as caught:
        list(open_source(write(tmp_path / "c.csv", ",".join(f"c{i}" for i in range(900)) + "\n")))
    assert "and 880 more" in str(caught.value)


@pytest.mark.parametrize("path", ["a\x00.png", "a\ud800.png", "/dev/zero", "."])
def test_a_record_whose_picture_is_no_file(path: str, tmp_path: Path) -> None:
    lines = json.dumps({"id": "a", "image": path}) + "\n" + json.dumps({"id": "b", "text": "fine"})
    first, second = open_source(write(tmp_path / "a.jsonl", lines))
    assert isinstance(first, BadItem) and isinstance(second, FoundDocument)
    assert "not a regular file" in first.problem or "not the name of a file" in first.problem


def test_a_single_file_is_one_document(tmp_path: Path) -> None:
    assert [d.id for d in good(list(open_source(write(tmp_path / "a.txt", "A"))))] == ["a.txt"]


def test_bom_and_line_ends_are_not_part_of_the_text(tmp_path: Path) -> None:
    (document,) = good(list(open_source(write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\ntwo"))))
    assert document.text == "one\ntwo"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"caf\x81", "not UTF-8 (byte 3)"),
        ("wide".encode("utf-16")[:-1], "damaged UTF-16 (byte 8)"),
        ("wide".encode("utf-16-le"), "NUL"),
    ],
)
def test_what_is_not_text_is_named(content: bytes, problem: str, tmp_path: Path) -> None:
    write(tmp_path / "good.txt", "fine")
    path = write(tmp_path / "bad.txt", content)
    found = list(open_source(tmp_path))
    (item,) = bad(found)
    assert (item.where, item.id) == (str(path), "bad.txt")
    assert problem in item.problem
    assert len(found) == 2


def test_a_file_over_the_limit_is_named_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as f:
        f.truncate(4 * MAX_TEXT_CHARS + 1)
    (item,) = bad(list(open_source(tmp_path)))
    assert "limit" in item.problem


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    os.symlink(tmp_path / "gone", tmp_path / "dangling.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.txt").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.txt"))
        followed = list(open_source(tmp_path, follow_links=True).read())
    assert {(Path(b.where).name, b.problem) for b in bad(followed)} == {
        ("dangling.txt", "No such file or directory"),
        ("pipe.txt", "a pipe, not a regular file"),
        ("socket.txt", "a socket, not a regular file"),
    }
    assert [Path(b.where).name for b in bad(list(open_source(tmp_path)))] == ["pipe.txt", "socket.txt"]


def test_a_source_that_is_not_there_or_of_no_known_kind(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="no such file or folder"):
        open_source(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match=r"\.jsonl"):
        open_source(write(tmp_path / "x.xlsx", "x"))


def test_jsonl(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "one", "lang": "en", "none": None},
        {"_id": 7, "title": "Two", "text": "two", "metadata": {"year": 2020}},
        {"text": "three"},
    ]
    path = write(tmp_path / "d.jsonl", "\n\n".join(map(json.dumps, lines)))
    assert [(d.id, d.text, d.metadata) for d in good(list(open_source(path)))] == [
        ("a", "one", {"lang": "en"}),
        ("7", "Two\n\ntwo", {"year": 2020, "title": "Two"}),
        ("d.jsonl:5", "three", {}),
    ]


def test_jsonl_with_named_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", '{"key": "k1", "body": "b"}\n{"body": "b"}')
    first, second = open_source(path, id_column="key", text_column="body")
    assert isinstance(first, FoundDocument)
    assert (first.id, first.text) == ("k1", "b")
    assert isinstance(second, BadItem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not JSON"),
        (b"[1]", "object was expected"),
        (b"\xff{}", "not UTF-8"),
        (b'{"id": "a"}', "no text in column 'text'"),
        (b'{"id": "a", "text": 3}', "no text in column 'text'"),
        (b'{"id": [1], "text": "x"}', "the id must be"),
        (b'{"id": true, "text": "x"}', "the id must be"),
        (b'{"id": "a", "text": "x", "metadata": 3}', "'metadata' must be"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_of_jsonl_is_named_and_the_rest_is_read(line: bytes, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", b'{"id": "1", "text": "x"}\n' + line + b'\n{"id": "3", "text": "x"}\n')
    found = list(open_source(path))
    (item,) = bad(found)
    assert item.where == f"{path}:2"
    assert problem in item.problem
    assert [d.id for d in found if isinstance(d, FoundDocument)] == ["1", "3"]


@pytest.mark.parametrize(("name", "comma"), [("d.csv", ","), ("d.tsv", "\t")])
def test_csv(name: str, comma: str, tmp_path: Path) -> None:
    rows = [("id", "text", "lang"), ("a", '"one\ntwo"', "en"), ("b", "x", "")]
    path = write(tmp_path / name, "\r\n".join(comma.join(row) for row in rows))
    assert [(d.id, d.text, d.metadata) for d in good(list(open_source(path)))] == [
        ("a", "one\ntwo", {"lang": "en"}),
        ("b", "x", {}),
    ]


def test_a_long_field_of_csv_is_read(tmp_path: Path) -> None:
    (document,) = good(list(open_source(write(tmp_path / "d.csv", "id,text\na," + "x" * 300_000))))
    assert len(document.text) == 300_000


def test_csv_rows_of_the_wrong_length_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", "id,text\na,x\nb\nc,x,y\nd,x\n")
    assert [b.where for b in bad(list(open_source(path)))] == [f"{path}:3", f"{path}:4"]


@pytest.mark.parametrize("content", ["", "who,what\na,b\n"])
def test_csv_without_a_text_column(content: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--text-column"):
        list(open_source(write(tmp_path / "d.csv", content)))


def test_html() -> None:
    page = """<html><head><title>A &amp; B</title><style>p {}</style></head>
    <body><h1>Head</h1><p>One <b>bo</b>ld<br>two<script>evil()</script></p><ul><li>x<li>y</ul><p/>end</body>"""
    assert html_to_text(page) == ("A & B", "A & B\nHead\nOne bold\ntwo\nx\ny\nend")


def test_html_that_is_broken_is_still_read() -> None:
    assert html_to_text("<p>a<b>c</p></script>d < e <")[1] == "ac\nd < e <"


def test_an_html_file_keeps_its_title(tmp_path: Path) -> None:
    (document,) = good(list(open_source(write(tmp_path / "p.html", "<title>T</title><p>x"))))
    assert (document.text, document.metadata["title"]) == ("T\nx", "T")


@pytest.mark.parametrize("mark", ["<!--", "<a ", "</", "<![CDATA[", '<a href="', "<a ='", "<script>"])
def test_html_that_never_closes_takes_time_by_its_length(mark: str) -> None:
    page = "seen " + mark * 60_000
    start = time.process_time()
    assert html_to_text(page)[1].startswith("seen")
    assert time.process_time() - start < 5, "minutes where time grows with the square"


def test_html_of_too_many_tags_is_named(tmp_path: Path) -> None:
    (item,) = bad(list(open_source(write(tmp_path / "a.html", "<p>" * 500_001))))
    assert "500,001 tags and entities" in item.problem


def test_html_with_odd_pieces() -> None:
    assert html_to_text("&#" + "9" * 10_000 + "; fox")[1] == "\ufffd fox"
    assert html_to_text("if a <b and no more")[1] == "if a <b and no more"
    assert html_to_text("<a title='x>y' b=\"p>q\">in</a> 1 < 2 <? x ?>out")[1] == "in 1 < 2 out"
    assert html_to_text("<SCRIPT>if (a</b>) x</SCRIPT>after<script>never")[1] == "after"
    assert html_to_text("<svg/>seen<svg><text>not</text></svg>")[1] == "seen"
