"""What cannot be read keeps nobody from the rest, and scripts learn of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zipfian as zf
from tests.cli.conftest import Command
from zipfian.cli._skipped import LISTED


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Cats sleep.")
    (folder / "bad.txt").write_bytes(b"caf\x81")
    return folder


def test_skipping_is_the_default_and_has_a_status_of_its_own(notes: Path, tmp_path: Path, zipfian: Command) -> None:
    code, out, err = zipfian("index", notes, "--into", tmp_path / "c.zf", "--fields", "words")
    assert code == 3
    assert "1 added, 1 skipped as unreadable; 1 documents in all" in out
    assert f"skipped {notes / 'bad.txt'}: not UTF-8 (byte 3)\n1 of 2 items were skipped, so the exit status is 3" in err
    with zf.Collection.open(tmp_path / "c.zf") as collection:
        assert list(collection.ids()) == ["a.txt"]


@pytest.mark.parametrize(("options", "status"), [(["--on-bad", "skip"], 0), (["--on-bad", "fail"], 1)])
def test_what_was_asked_for_is_no_surprise(
    options: list[str], status: int, notes: Path, tmp_path: Path, zipfian: Command
) -> None:
    code, _, err = zipfian("index", notes, "--into", tmp_path / "c.zf", "--fields", "words", *options)
    assert code == status
    assert "exit status" not in err


def test_nothing_bad_is_0(notes: Path, tmp_path: Path, zipfian: Command) -> None:
    (notes / "bad.txt").unlink()
    code, _, err = zipfian("index", notes, "--into", tmp_path / "c.zf", "--fields", "words")
    assert code == 0
    assert "skipped" not in err


def test_a_long_list_is_cut_and_whole_as_json(notes: Path, tmp_path: Path, zipfian: Command) -> None:
    for i in range(LISTED + 4):
        (notes / f"bad{i:02d}.txt").write_bytes(b"\xff")
    code, out, err = zipfian("index", notes, "--into", tmp_path / "c.zf", "--fields", "words", "--json")
    assert code == 3
    assert err.count("skipped /") == LISTED
    assert "... and 5 more; --json lists all of them" in err
    assert len(json.loads(out)["bad"]) == LISTED + 5
    assert "status" not in json.loads(out)


def test_what_is_left_out_by_name_is_said(notes: Path, tmp_path: Path, zipfian: Command) -> None:
    (notes / "bad.txt").unlink()
    for name in ("node_modules/x.md", "drafts/b.md", "c.log.txt"):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / name).write_text("x")
    index = ["index", notes, "--fields", "words", "--exclude", "drafts", "--exclude", "*.log.txt"]
    code, out, err = zipfian(*index, "--into", tmp_path / "c.zf")
    assert code == 0 and "1 added" in out
    assert "*.log.txt (1), drafts (1), node_modules (1); --no-default-excludes reads what is left out by default" in err
    code, out, err = zipfian(*index, "--into", tmp_path / "d.zf", "--no-default-excludes")
    assert code == 0 and "2 added" in out
    assert "left out by name" in err and "--no-default" not in err
