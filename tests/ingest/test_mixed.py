"""A folder as people have it: tables beside texts, pictures and what programs leave behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from PIL import Image

import zipfian as zf
from zipfian.collection.following import BadItem
from zipfian.errors import InvalidInput
from zipfian.ingest.source import FoundDocument, open_source


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    folder = tmp_path / "mixed"
    (folder / "data").mkdir(parents=True)
    (folder / "a.txt").write_text("Cats sleep.")
    (folder / "data" / "items.csv").write_text("id;text;price\n1;Red lamp;12,50\n2;Blue lamp;9\n")
    (folder / "data" / "more.jsonl").write_text('{"id": "1", "text": "Green lamp", "year": 2020}\n{"text": "No id"}\n')
    return folder


def ids(folder: Path, **options: object) -> list[str]:
    return [item.id or "" for item in open_source(folder, **options) if isinstance(item, FoundDocument)]


def test_records_and_texts_together(mixed: Path) -> None:
    found = {item.id: item for item in open_source(mixed)}
    assert list(found) == ["data/items.csv:1", "data/items.csv:2", "data/more.jsonl:1", "data/more.jsonl:2", "a.txt"]
    lamp = found["data/items.csv:1"]
    assert isinstance(lamp, FoundDocument)
    assert lamp.metadata == {"path": "data/items.csv", "type": "csv", "price": 12.5}
    survey = open_source(mixed).survey()
    assert (survey.items, survey.texts, survey.pictures) == (5, 5, 0)
    assert set(survey.sample) == {"Cats sleep.", "Red lamp", "Blue lamp", "Green lamp", "No id"}


def test_parquet_among_others(mixed: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'zipfian[parquet]'")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.Table.from_pylist([{"id": 7, "text": "Old lamp"}]), mixed / "old.parquet")
    assert "old.parquet:7" in ids(mixed)


def test_a_picture_that_a_record_names_is_one_document(mixed: Path) -> None:
    for name in ("one.png", "two.png"):
        Image.new("RGB", (8, 8), (255, 0, 0)).save(mixed / name)
    (mixed / "captions.jsonl").write_text(json.dumps({"image": "one.png", "caption": "Red."}) + "\n")
    found = ids(mixed)
    assert "captions.jsonl:one.png" in found and "two.png" in found
    assert "one.png" not in found


def test_a_table_that_cannot_be_read_is_named_and_the_rest_goes_on(mixed: Path) -> None:
    (mixed / "who.csv").write_text("who,when\na,b\n")
    (mixed / "broken.parquet").write_bytes(b"PAR1")
    (mixed / "empty.csv").write_bytes(b"")
    bad = {Path(item.where).name: item for item in open_source(mixed) if isinstance(item, BadItem)}
    assert set(bad) == {"who.csv", "broken.parquet", "empty.csv"}
    assert (
        bad["who.csv"].problem.startswith("no column such as 'text'") and "found: who, when" in bad["who.csv"].problem
    )
    assert len(ids(mixed)) == 5
    survey = open_source(mixed).survey()
    assert (survey.items, survey.texts) == (8, 5), "judging a folder is no reason to stop"


def test_columns_may_be_named_where_there_are_records(mixed: Path, tmp_path: Path) -> None:
    (mixed / "data" / "more.jsonl").unlink()
    named = {item.id: item for item in open_source(mixed, text_column="price")}
    lamp = named["data/items.csv:1"]
    assert isinstance(lamp, FoundDocument) and lamp.text == "12,50"
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("x")
    with pytest.raises(InvalidInput, match=r"names a column of a record, and .*texts holds no file of records"):
        open_source(texts, text_column="body")


def test_what_cannot_be_read_today_is_not_gone(mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is damaged, or a folder that is locked, takes nothing out of the collection."""
    (mixed / "deep").mkdir()
    (mixed / "deep" / "b.txt").write_text("Dogs bark.")
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        assert collection.sync(mixed, prefix="p/").added == 6
        (mixed / "data" / "items.csv").write_text('id;text;price\n1;Red lamp;12,50\n2;"Blue lamp;9\n')
        scandir = os.scandir

        def refuse(path: str) -> object:
            if Path(path).name == "deep":
                raise PermissionError(13, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)
        done = collection.sync(mixed, prefix="p/", on_bad="skip")
        monkeypatch.undo()
        assert (done.removed, done.unchanged, len(done.bad)) == (0, 4, 2)
        (mixed / "data" / "items.csv").write_text("id;text;price\n1;Red lamp;12,50\n")
        assert collection.sync(mixed, prefix="p/").removed == 1


def test_a_file_that_breaks_off_removes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,text\na,one\nb,two\nc,three\n")
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        collection.sync(path)
        path.write_text('id,text\na,one\nb,"two\n')
        assert collection.sync(path, on_bad="skip").removed == 0
        path.write_text("id,text\na,one\n")
        assert collection.sync(path).removed == 2


def test_the_same_id_twice(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,text\na,one\nb,two\na,three\na,one\n")
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        with pytest.raises(InvalidInput, match=r"d\.csv:4: the id 'a' appears twice .*--id-column"):
            collection.sync(path)
        done = collection.sync(path, on_bad="skip")
        assert [bad.where for bad in done.bad] == [f"{path}:4", f"{path}:5"]
        assert collection.get("a").text == "one", "the first one counts"
        assert len(collection) == 2


def test_what_is_left_out_by_default(mixed: Path) -> None:
    for name in (".git/config.txt", "node_modules/x/readme.md", "sub/__pycache__/a.py", ".hidden.txt", "~$open.docx"):
        (mixed / name).parent.mkdir(parents=True, exist_ok=True)
        (mixed / name).write_text("no")
    source = open_source(mixed)
    assert [item.id for item in source if item.id and not item.id.startswith("data/")] == ["a.txt"]
    assert source.found is not None
    assert source.found.excluded == {".*": 2, "node_modules": 1, "__pycache__": 1, "~$*": 1}
    everything = [item.id for item in open_source(mixed, default_excludes=False)]
    assert {".git/config.txt", "node_modules/x/readme.md", "sub/__pycache__/a.py", ".hidden.txt"} <= set(everything)


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["*.csv"], ["data/more.jsonl:1", "data/more.jsonl:2", "a.txt"]),
        (["data"], ["a.txt"]),
        (["data/"], ["a.txt"]),
        (["data/*.jsonl", "a.*"], ["data/items.csv:1", "data/items.csv:2"]),
        ("*.txt", ["data/items.csv:1", "data/items.csv:2", "data/more.jsonl:1", "data/more.jsonl:2"]),
        (
            ["*.CSV", "items"],
            ["data/items.csv:1", "data/items.csv:2", "data/more.jsonl:1", "data/more.jsonl:2", "a.txt"],
        ),
    ],
)
def test_exclude(exclude: list[str] | str, left: list[str], mixed: Path) -> None:
    assert ids(mixed, exclude=exclude) == left


@pytest.mark.parametrize("exclude", [[""], ["/"], [3]])
def test_a_pattern_that_matches_nothing_is_refused(exclude: list[str], mixed: Path) -> None:
    with pytest.raises(InvalidInput, match=r"exclude \(--exclude\) takes patterns"):
        open_source(mixed, exclude=exclude)
    with pytest.raises(InvalidInput, match="is about names in a folder"):
        open_source(mixed / "a.txt", exclude=["*.log"])
