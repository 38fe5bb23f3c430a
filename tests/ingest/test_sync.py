"""A collection that follows a source, from Python: what is added, replaced, removed, and what stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import zipfian as zf
from zipfian import ingest
from zipfian.cli import main
from zipfian.errors import InvalidInput, ReadOnly
from zipfian.ingest import BadItem, Synced, follow, lookup


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("a.txt", "plants"), ("b.txt", "animals"), ("c.txt", "stones")):
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.zf"


def ids(path: Path) -> list[str]:
    with zf.Collection.open(path) as collection:
        return sorted(collection.ids())


def test_a_folder_is_followed_and_committed(notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        assert collection.sync(notes) == Synced(added=3, commits=1)
        (notes / "a.txt").write_text("plants and light")
        (notes / "b.txt").unlink()
        (notes / "d.txt").write_text("light")
        assert collection.sync(str(notes)) == Synced(added=1, updated=1, removed=1, unchanged=1, commits=1)
        assert collection.sync(notes) == Synced(unchanged=3)
        assert sorted(hit.id for hit in collection.search("light")) == ["a.txt", "d.txt"]
    assert ids(path) == ["a.txt", "c.txt", "d.txt"]


def test_what_is_gone_may_be_kept(notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        collection.sync(notes)
        (notes / "b.txt").unlink()
        assert collection.sync(notes, keep_missing=True) == Synced(unchanged=2)
    assert ids(path) == ["a.txt", "b.txt", "c.txt"]


def test_the_command_and_python_go_on_where_the_other_stopped(notes: Path, path: Path) -> None:
    assert main(["index", str(notes), "--into", str(path), "--fields", "words"]) == 0
    with zf.Collection.open(path, mode="w") as collection:
        assert collection.sync(notes) == Synced(unchanged=3)


def test_documents_of_others_are_left_alone(notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        collection.add([{"id": "mine", "text": "my own"}, {"id": "a.txt", "text": "my own"}])
        collection.commit()
        with pytest.raises(InvalidInput, match=r"'a\.txt' is already .* and did not come from a source; .*take_over"):
            collection.sync(notes)
        assert collection.sync(notes, prefix="n/") == Synced(added=3, commits=1)
        assert collection.sync(notes, take_over=True) == Synced(added=2, updated=1, removed=3, commits=1)
    assert ids(path) == ["a.txt", "b.txt", "c.txt", "mine"]


def test_an_empty_folder_removes_nothing(notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        collection.sync(notes)
        for file in notes.iterdir():
            file.unlink()
        with pytest.raises(InvalidInput, match=r"no text .* and no picture"):
            collection.sync(notes)
    assert len(ids(path)) == 3


def test_a_bad_item_is_an_error_skipped_or_told(notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        collection.sync(notes)
        (notes / "b.txt").write_bytes(b"caf\x81")
        bad = BadItem(str(notes / "b.txt"), "not UTF-8 (byte 3)", "b.txt")
        with pytest.raises(InvalidInput, match=r"b\.txt: not UTF-8 \(byte 3\); leave .* with on_bad='skip'"):
            collection.sync(notes)
        assert collection.sync(notes, on_bad="skip") == Synced(unchanged=2, bad=[bad])
        told: list[BadItem] = []
        assert collection.sync(notes, on_bad=told.append).bad == told == [bad]
    assert ids(path) == ["a.txt", "b.txt", "c.txt"], "what could not be read is not gone"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on_bad": "ignore"}, "on_bad must be 'fail', 'skip' or a function of a BadItem, not 'ignore'"),
        ({"commit_every": 0}, "commit_every must be a whole number from 1, not 0"),
        ({"commit_every": True}, "commit_every must be a whole number from 1, not True"),
    ],
)
def test_settings_are_checked(options: dict[str, object], problem: str, notes: Path, path: Path) -> None:
    with zf.Collection.create(path) as collection:
        with pytest.raises(InvalidInput) as caught:
            collection.sync(notes, **options)
        assert str(caught.value) == problem
        assert len(collection) == 0


def test_progress_counts_up_to_all_items(notes: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "ADD_DOCUMENTS", 2)
    seen: list[int] = []
    with zf.Collection.create(path) as collection:
        done = collection.sync(notes, progress=seen.append, commit_every=2)
    assert seen == [2, 3]
    assert (done.added, done.commits) == (3, 2)


def test_links_are_followed_when_asked(notes: Path, path: Path, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("outside")
    os.symlink(tmp_path / "out.txt", notes / "way.txt")
    with zf.Collection.create(path) as collection:
        assert collection.sync(notes).added == 3
        assert collection.sync(notes, follow_links=True).added == 1


def test_an_open_source_has_its_settings_already(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"key": "x", "body": "plants"}\n')
    source = ingest.open_source(file, id_column="key", text_column="body")
    with zf.Collection.create(path) as collection:
        with pytest.raises(InvalidInput, match="text_column: give it to open_source"):
            collection.sync(source, text_column="body")
        assert collection.sync(source) == Synced(added=1, commits=1)
        assert [hit.id for hit in collection.search("plants")] == ["x"]


def test_a_reader_cannot_follow(notes: Path, path: Path) -> None:
    zf.Collection.create(path).close()
    with zf.Collection.open(path) as collection, pytest.raises(ReadOnly):
        collection.sync(notes)


def test_a_source_is_a_path() -> None:
    with pytest.raises(InvalidInput, match="a source is a path of a folder or a file, not 3"):
        ingest.open_source(3)  # type: ignore[arg-type]


def test_ids_are_looked_up_many_at_a_time_and_all_are_found(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.jsonl"
    records = [{"id": f"d{i}", "text": f"plants {i}"} for i in range(25)]
    records[7]["id"] = "x" * 10_000
    records[8]["text"] = ""
    file.write_text("".join(json.dumps(record) + "\n" for record in records) + "{no json\n")
    monkeypatch.setattr(lookup, "LOOKUP", 10)
    asked: list[list[str]] = []
    plain = zf.Collection.present

    def present(self: zf.Collection, ids: list[str]) -> list[bool]:
        asked.append(ids)
        return plain(self, ids)

    monkeypatch.setattr(zf.Collection, "present", present)
    with zf.Collection.create(path) as collection:
        done = collection.sync(file, on_bad="skip")
        assert (done.added, done.empty, len(done.bad)) == (23, 1, 2)
        assert "a document id of 10000 bytes" in done.bad[0].problem
        assert [len(ids) for ids in asked] == [9, 10, 5], "neither bad lines nor ids that no document can have"
        asked.clear()
        records[3]["text"] = "animals"
        file.write_text("".join(json.dumps(record) + "\n" for record in records[:20]))
        done = collection.sync(file, on_bad="skip")
        assert (done.updated, done.unchanged, done.added, done.removed) == (1, 17, 0, 5)
        assert collection.present(["d3", "d24", "nothing"]) == [True, False, False]
