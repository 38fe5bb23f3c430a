"""Pictures, captions and tables as sources."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from tests.cli.conftest import BLUE, RED, picture
from zipfian.errors import InvalidInput, MissingExtra
from zipfian.ingest.source import BadItem, FoundDocument, open_source
from zipfian.limits import MAX_IMAGE_BYTES


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def documents(source: Path, **columns: str) -> list[FoundDocument]:
    found = list(open_source(source, **columns).read())
    assert [item for item in found if isinstance(item, BadItem)] == []
    return [item for item in found if isinstance(item, FoundDocument)]


def test_a_folder_of_pictures_and_captions(tmp_path: Path) -> None:
    picture(tmp_path / "a.PNG", RED)
    picture(tmp_path / "b.png", BLUE)
    picture(tmp_path / "sub" / "c.jpg", BLUE)
    write(tmp_path / "a.txt", "A red square.\n")
    write(tmp_path / "b.png.txt", "the surer name")
    write(tmp_path / "b.txt", "not this one")
    write(tmp_path / "notes.txt", "A text of its own.")
    write(tmp_path / "sub" / "empty.md", "x")
    write(tmp_path / "program.exe", "x")
    found = {d.id: d for d in documents(tmp_path)}
    assert list(found) == ["a.PNG", "b.png", "b.txt", "notes.txt", "sub/c.jpg", "sub/empty.md"]
    assert (found["a.PNG"].text, found["a.PNG"].image) == ("A red square.", str(tmp_path / "a.PNG"))
    assert found["b.png"].text == "the surer name"
    assert found["sub/c.jpg"].text is None
    assert found["a.PNG"].metadata == {"path": "a.PNG", "type": "png", "image": str(tmp_path / "a.PNG")}
    assert "image" not in found["a.PNG"].to_dict(pictures=False)
    survey = open_source(tmp_path).survey()
    assert (survey.items, survey.texts, survey.pictures, survey.captions) == (6, 5, 3, 2)
    assert survey.others == "1 .exe"


def test_paths_of_pictures_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture(tmp_path / "in" / "a.png", RED)
    monkeypatch.chdir(tmp_path)
    (document,) = documents(Path("in"))
    assert document.image == str(tmp_path / "in" / "a.png")
    (alone,) = documents(Path("in/a.png"))
    assert (alone.id, alone.image) == ("a.png", document.image)


def test_hidden_files_loops_and_files_too_large(tmp_path: Path) -> None:
    picture(tmp_path / ".hidden.png", RED)
    picture(tmp_path / ".thumbs" / "a.png", RED)
    os.symlink(tmp_path, tmp_path / "loop")
    os.symlink(tmp_path / "gone.png", tmp_path / "dangling.png")
    with (tmp_path / "big.png").open("wb") as file:
        file.truncate(MAX_IMAGE_BYTES + 1)
    found = list(open_source(tmp_path))
    assert {(item.id, isinstance(item, BadItem)) for item in found} == {("big.png", True)}
    assert "more than the limit" in next(b.problem for b in found if isinstance(b, BadItem) and b.id == "big.png")


def test_a_caption_that_is_not_text_is_named_with_its_picture(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", RED)
    (tmp_path / "a.txt").write_bytes(b"caf\x81")
    (bad,) = open_source(tmp_path)
    assert isinstance(bad, BadItem)
    assert (Path(bad.where).name, bad.id) == ("a.txt", "a.png")


def records(folder: Path) -> list[dict[str, object]]:
    picture(folder / "images" / "a.png", RED)
    return [
        {"image": "images/a.png", "captions": ["A red square.", "All red."], "split": "test"},
        {"id": "t", "text": "only text"},
        {"id": "c", "image": "images/a.png", "caption": "Red."},
        {"id": "p", "image": "images/a.png"},
    ]


def test_jsonl_with_pictures(tmp_path: Path) -> None:
    source = write(tmp_path / "d.jsonl", "\n".join(map(json.dumps, records(tmp_path))))
    first, text, caption, bare = documents(source)
    full = str(tmp_path / "images" / "a.png")
    assert (first.id, first.text) == ("images/a.png", "A red square.\nAll red.")
    assert first.metadata == {"split": "test", "image": full}
    assert (text.image, text.text) == (None, "only text")
    assert (caption.text, caption.image, bare.text) == ("Red.", full, None)
    survey = open_source(source).survey()
    assert (survey.items, survey.texts, survey.pictures, survey.captions) == (4, 3, 3, 2)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"image": "none.png"}, "none.png: No such file"),
        ({"image": 3, "text": "x"}, "must be the path of a picture, not int"),
        ({"image": "https://host/a.png"}, "download it first"),
        ({"year": 7}, "no text in column 'text', 'body' or the like, and no 'image'"),
    ],
)
def test_a_record_whose_picture_is_no_good_is_named(record: dict[str, object], problem: str, tmp_path: Path) -> None:
    source = write(tmp_path / "d.jsonl", json.dumps({"id": "x", **record}))
    (bad,) = open_source(source)
    assert isinstance(bad, BadItem)
    assert (bad.id, bad.where) == ("x", f"{source}:1")
    assert problem in bad.problem


def test_csv_with_pictures(tmp_path: Path) -> None:
    records(tmp_path)
    source = write(tmp_path / "d.csv", "file,caption,lang\nimages/a.png,Red.,en\n,Only text.,en\n")
    first, second = documents(source, image_column="file")
    assert (first.id, first.text, first.metadata["lang"]) == ("images/a.png", "Red.", "en")
    assert (second.text, second.image) == ("Only text.", None)


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    source = tmp_path / "d.parquet"
    rows = records(tmp_path)
    names = {name for row in rows for name in row}
    parquet.write_table(pyarrow.Table.from_pylist([dict.fromkeys(names) | row for row in rows]), source)
    assert [d.id for d in documents(source)] == ["images/a.png", "t", "c", "p"]
    parquet.write_table(pyarrow.Table.from_pylist([{"year": 1, "words": "x"}]), source)
    with pytest.raises(InvalidInput, match=r"found: year, words.*--text-column"):
        documents(source)
    assert [(d.text, d.metadata) for d in documents(source, text_column="words")] == [("x", {"year": 1})]
    source.write_bytes(b"PAR1 not really")
    (bad,) = open_source(source)
    assert isinstance(bad, BadItem)
    assert "not Parquet" in bad.problem


def test_parquet_keeps_a_value_that_many_rows_share_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes on disk; unpacked at once it would be the text times the rows."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'zipfian[parquet]'")
    import pyarrow.parquet as parquet

    long = "fox " * 50_000
    rows = [{"id": str(i), "text": long if i < 60 else f"text {i}", "year": i} for i in range(100)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet", compression="zstd")
    monkeypatch.setattr("zipfian.ingest.records.PARQUET_BYTES", 1_000_000)
    tracemalloc.start()
    texts = [(d.id, d.text == long) for d in open_source(tmp_path / "d.parquet") if isinstance(d, FoundDocument)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert texts == [(str(i), i < 60) for i in range(100)]
    assert peak < 5_000_000


def test_parquet_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match="zipfian\\[parquet\\]"):
        list(open_source(write(tmp_path / "d.parquet", "x")))
