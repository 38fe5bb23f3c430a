"""A folder of photographs: what cameras wrote becomes metadata that can be filtered by, and need not be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.encode.test_exif import photo
from zipfian.cli import main


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Two photographs of different years with captions, and a text."""
    folder = tmp_path / "album"
    photo(folder / "a.jpg", "2023:12:31 23:59:59")
    photo(folder / "b.jpg", "2024:01:01 00:00:00", place=None)
    (folder / "a.txt").write_text("a green field")
    (folder / "b.txt").write_text("a green wall")
    (folder / "c.txt").write_text("a green story")
    return folder


def test_photos_from_a_year(album: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.zf"
    assert main(["index", str(album), "--into", str(path), "--fields", "words"]) == 0
    with zf.Collection.open(path) as collection:
        year = {"taken": {">=": "2024-01-01", "<": "2025-01-01"}}
        assert [document.id for document in collection.documents(year)] == ["b.jpg"]
        assert {**collection.columns} | {
            "taken": "date",
            "latitude": "number",
            "width": "integer",
        } == collection.columns
        assert collection.count({"camera": "Canon EOS R6", "width": {">": 50}}) == 2
        assert collection.count({"latitude": {">": 48, "<": 49}}) == 1
        assert collection.facets(["camera"])["camera"].values[0].count == 2


def test_running_again_writes_nothing(album: Path, tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        assert collection.sync(album).added == 3
        again = collection.sync(album)
        assert (again.unchanged, again.updated) == (3, 0)


def test_what_was_kept_is_taken_out_again(album: Path, tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        collection.sync(album)
        without = collection.sync(album, exif=False)
        assert (without.updated, without.unchanged) == (2, 1)
        assert not {"taken", "camera", "latitude", "width"} & collection.get("a.jpg").metadata.keys()
        assert collection.sync(album, exif=False).updated == 0


def test_a_column_of_another_type_is_left_alone(album: Path, tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        collection.add([{"id": "own", "text": "green", "metadata": {"camera": 7}}])
        collection.commit()
        assert collection.sync(album).added == 3
        assert "camera" not in collection.get("a.jpg").metadata
        assert "taken" in collection.get("a.jpg").metadata


def test_records_keep_their_own_columns(album: Path, tmp_path: Path) -> None:
    records = album / "all.jsonl"
    records.write_text('{"id": "r", "image": "a.jpg", "caption": "green"}\n')
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        collection.sync(records)
        assert "taken" not in collection.get("r").metadata


def test_the_flag(album: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.zf"
    assert main(["index", str(album), "--into", str(path), "--fields", "words", "--no-exif"]) == 0
    with zf.Collection.open(path) as collection:
        assert "taken" not in collection.columns
