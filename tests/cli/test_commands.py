"""Each command, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("collections")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "plants.txt").write_text("Plants make food from light and water.")
    (folder / "animals.md").write_text("Animals eat plants, or other animals.")
    (folder / "stones.txt").write_text("Stones eat nothing.")
    return folder


@pytest.fixture
def path(tmp_path: Path, notes: Path, zipfian: Command) -> Path:
    """A collection with three documents."""
    path = tmp_path / "notes.zf"
    code, out, err = zipfian("index", notes, "--into", path, "--fields", "words")
    assert (code, err) == (0, f'search it: zipfian search {path} "..."\n')
    assert out.startswith(f"{path}: 3 added; 3 documents in all")
    return path


def ids(out: str) -> list[str]:
    return [hit["id"] for hit in json.loads(out)["hits"]]


def test_indexing_again_changes_nothing(path: Path, notes: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("index", notes, "--into", path, "--json")
    assert code == 0
    summary = json.loads(out)
    assert (summary["unchanged"], summary["added"], summary["commits"], summary["total"]) == (3, 0, 0, 3)


def test_indexing_follows_changes(path: Path, notes: Path, zipfian: Command) -> None:
    (notes / "stones.txt").unlink()
    (notes / "plants.txt").write_text("Plants make sugar.")
    (notes / "new.txt").write_text("Clouds bring water.")
    (notes / "empty.txt").write_text(" \n")
    code, out, _ = zipfian("index", notes, "--into", path)
    assert code == 0
    assert "1 added, 1 updated, 1 removed, 1 unchanged, 1 empty; 3 documents in all" in out
    assert ids(zipfian("search", path, "sugar", "--json")[1]) == ["plants.txt"]
    assert ids(zipfian("search", path, "light", "--json")[1]) == []
    assert ids(zipfian("search", path, "stones", "--json")[1]) == []


def test_indexing_keeps_what_another_source_brought(path: Path, tmp_path: Path, zipfian: Command) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "x", "text": "Rivers carry stones."}\n')
    assert "1 added; 4 documents" in zipfian("index", more, "--into", path)[1]
    more.write_text('{"id": "y", "text": "Rivers carry sand."}\n')
    assert "1 added, 1 removed; 4 documents" in zipfian("index", more, "--into", path)[1]


def test_an_id_of_another_source_is_not_overwritten(path: Path, tmp_path: Path, zipfian: Command) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "plants.txt").write_text("Power plants make electricity.")
    code, _, err = zipfian("index", other, "--into", path)
    assert code == 3
    assert "'plants.txt' is already in the collection" in err
    assert "--prefix" in err
    assert "1 added; 4 documents" in zipfian("index", other, "--into", path, "--prefix", "other/")[1]
    assert "1 updated" in zipfian("index", other, "--into", path, "--take-over", "--keep-missing")[1]


def test_keep_missing(path: Path, notes: Path, zipfian: Command) -> None:
    (notes / "stones.txt").unlink()
    assert "2 unchanged; 3 documents" in zipfian("index", notes, "--into", path, "--keep-missing")[1]


def test_bad_input_stops_or_is_skipped(path: Path, notes: Path, zipfian: Command) -> None:
    (notes / "plants.txt").write_bytes(b"caf\x81")
    (notes / "animals.md").write_text("Animals sleep.")
    code, _, err = zipfian("index", notes, "--into", path, "--on-bad", "fail")
    assert code == 1
    assert "plants.txt: not UTF-8 (byte 3); leave such documents out with on_bad='skip' (--on-bad skip)" in err
    code, out, err = zipfian("index", notes, "--into", path, "--on-bad", "skip")
    assert code == 0
    assert "1 updated, 1 unchanged, 1 skipped as unreadable; 3 documents" in out, "an unreadable file is not gone"
    assert "plants.txt: not UTF-8" in err


def test_the_same_id_twice_in_a_source(tmp_path: Path, zipfian: Command) -> None:
    source = tmp_path / "d.jsonl"
    source.write_text('{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}\n')
    code, _, err = zipfian("index", source, "--into", tmp_path / "c.zf", "--fields", "words")
    assert code == 3
    assert f"{source}:2: the id 'x' appears twice" in err


def test_commit_every(tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.ingest.follow.ADD_DOCUMENTS", 2)
    source = tmp_path / "d.jsonl"
    source.write_text("".join(f'{{"id": "{i}", "text": "word{i}"}}\n' for i in range(10)))
    summary = json.loads(zipfian("index", source, "--into", tmp_path / "c.zf", "--fields", "words",
                                  "--commit-every", 4, "--json")[1])  # fmt: skip
    assert (summary["added"], summary["commits"]) == (10, 3)


def test_a_source_that_is_not_there_makes_no_collection(tmp_path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("index", tmp_path / "nothing", "--into", tmp_path / "c.zf")
    assert (code, err) == (1, f"zipfian: {tmp_path / 'nothing'}: no such file or folder\n")
    assert not (tmp_path / "c.zf").exists()


def test_search(path: Path, zipfian: Command) -> None:
    code, out, err = zipfian("search", path, "light water")
    assert code == 0
    assert "plants.txt" in out
    assert "Plants make food from light and water." in out
    assert "1 hit (" in err


def test_search_highlights(path: Path, zipfian: Command) -> None:
    assert "from **light** and **water**." in zipfian("search", path, "light water", "--highlight")[1]


def test_search_as_json(path: Path, zipfian: Command) -> None:
    found = json.loads(zipfian("search", path, "plants", "--json", "--highlight", "-k", 1)[1])
    (hit,) = found["hits"]
    assert (hit["rank"], hit["metadata"]["path"]) == (1, hit["id"])
    assert hit["score"] > 0
    start, end = hit["highlights"][0]
    assert hit["text"][start:end].lower().startswith("plant")
    assert {"query", "generation", "timings"} <= set(found)


def test_search_with_a_filter(path: Path, zipfian: Command) -> None:
    assert ids(zipfian("search", path, "plants", "--where", '{"type": "md"}', "--json")[1]) == ["animals.md"]


def test_search_that_finds_nothing(path: Path, zipfian: Command) -> None:
    code, out, err = zipfian("search", path, "zzz")
    assert (code, out) == (0, "")
    assert "no document shares a term" in err


@pytest.mark.parametrize(
    "command", [("search", "q"), ("inspect",), ("merge",), ("explain", "q", "id"), ("delete", "id")]
)
def test_a_folder_that_is_not_a_collection(command: tuple[str, ...], tmp_path: Path, zipfian: Command) -> None:
    code, out, err = zipfian(command[0], tmp_path, *command[1:])
    assert (code, out) == (1, "")
    assert err.startswith("zipfian: ")
    assert err.count("\n") == 1


def test_explain(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("explain", path, "light water", "plants.txt")
    assert code == 0
    assert len(out.splitlines()) > 2
    tree = json.loads(zipfian("explain", path, "light water", "plants.txt", "--json")[1])
    assert tree["value"] == pytest.approx(sum(part["value"] for part in tree["parts"]))


def test_explain_one_above_another(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("explain", path, "plants water", "plants.txt", "--above", "animals.md")
    assert code == 0
    assert "animals.md" in out


def test_explain_an_unknown_document(path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("explain", path, "light", "nothing.txt")
    assert code == 1
    assert "nothing.txt" in err


def test_inspect(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("inspect", path)
    assert code == 0
    assert "words" in out
    told = json.loads(zipfian("inspect", path, "--json")[1])
    assert {"legs", "fields", "files"} <= set(told) and "columns" not in told
    assert "words" in told["legs"] and any(role.startswith("leg:") for role in told["files"])


def test_delete(path: Path, zipfian: Command) -> None:
    assert zipfian("delete", path, "stones.txt", "stones.txt") == (0, f"{path}: 1 removed, 2 documents left\n", "")
    assert ids(zipfian("search", path, "stones", "--json")[1]) == []


def test_delete_is_all_or_nothing(path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("delete", path, "stones.txt", "nothing.txt")
    assert code == 1
    assert "1 of 2 ids are not in the collection: 'nothing.txt'; nothing was removed" in err
    assert ids(zipfian("search", path, "stones", "--json")[1]) == ["stones.txt"]
    assert "1 removed, 2 documents left" in zipfian("delete", path, "stones.txt", "nothing.txt", "--ignore-missing")[1]


def test_merge(path: Path, zipfian: Command) -> None:
    zipfian("delete", path, "stones.txt")
    code, out, _ = zipfian("merge", path)
    assert code == 0
    assert "merged 2 documents" in out
    assert ids(zipfian("search", path, "light", "--json")[1]) == ["plants.txt"]
