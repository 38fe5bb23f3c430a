"""`zipfian serve` on what is no collection yet: it asks, indexes as `zipfian index` does, and serves that."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.cli.conftest import Command
from zipfian.cli import _offer

pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")


class Keyboard(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def notes(tmp_path: Path, toys: Any) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "plants.txt").write_text("Plants make food from light.")
    (folder / "stones.txt").write_text("Stones eat nothing.")
    return folder


@pytest.fixture
def shelves(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """What would have been served: names, and how many documents each has. Nothing listens for long."""
    seen: list[dict[str, int]] = []

    class Server:
        def run(self, sockets: Any) -> None:
            pass

    def create_app(shelf: Any, settings: Any) -> None:
        seen.append({one.name: len(one.collection) for one in shelf})
        shelf.close()

    monkeypatch.setattr("zipfian.serve.app.create_app", create_app)
    monkeypatch.setattr("zipfian.serve.server.make_server", lambda app, settings: Server())
    return seen


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Keyboard]:
    """A terminal, and what is typed there."""

    def typed(text: str) -> Keyboard:
        keyboard = Keyboard(text)
        monkeypatch.setattr("sys.stdin", keyboard)
        monkeypatch.setattr(_offer, "is_terminal", lambda stream: True)
        return keyboard

    return typed


def serve(zipfian: Command, *arguments: object) -> tuple[int, str, str]:
    return zipfian("serve", *arguments, "--port", 0)


def test_without_a_terminal_it_says_what_to_type(
    notes: Path, zipfian: Command, shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, out, err = serve(zipfian, notes)
    assert (code, out) == (1, "")
    into = notes.with_suffix(".zf")
    assert f"{notes} is not a collection: index it first (zipfian index {notes} --into {into}), or say --index" in err
    assert not into.exists()
    assert shelves == []


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
def test_yes_indexes_and_serves(
    notes: Path, zipfian: Command, shelves: list[Any], types: Callable[[str], Any], answer: str
) -> None:
    types(answer)
    code, out, err = serve(zipfian, notes)
    assert code == 0, err
    into = notes.with_suffix(".zf")
    assert f"{notes} is not a collection: index it into {into} and serve that? [y/N] " in err
    assert f"{into}: 2 added; 2 documents in all" in out
    assert "serving notes at http://127.0.0.1:" in err
    assert shelves == [{"notes": 2}]


@pytest.mark.parametrize("answer", ["\n", "n\n", "", "what?\n"])
def test_anything_else_is_a_no(
    notes: Path, zipfian: Command, shelves: list[Any], types: Callable[[str], Any], answer: str
) -> None:
    types(answer)
    code, _, err = serve(zipfian, notes)
    assert code == 1
    assert f"index it first (zipfian index {notes} --into" in err
    assert shelves == []
    assert not notes.with_suffix(".zf").exists()


def test_an_option_says_yes_and_the_fields_are_those_of_the_command(
    notes: Path, zipfian: Command, shelves: list[Any], tmp_path: Path
) -> None:
    assert zipfian("index", notes, "--into", tmp_path / "other.zf")[0] == 0
    assert serve(zipfian, notes, "--index")[0] == 0
    assert shelves == [{"notes": 2}]
    with zf.Collection.open(tmp_path / "other.zf") as typed, zf.Collection.open(tmp_path / "notes.zf") as served:
        assert list(served.fields) == list(typed.fields)


def test_the_second_time_it_follows_changes(
    notes: Path, zipfian: Command, shelves: list[Any], types: Callable[[str], Any]
) -> None:
    assert serve(zipfian, notes, "--index")[0] == 0
    (notes / "new.txt").write_text("Clouds bring water.")
    types("y\n")
    code, out, err = serve(zipfian, notes)
    assert code == 0
    assert f"bring it up to date in {notes.with_suffix('.zf')}" in err
    assert "1 added, 2 unchanged" in out
    assert shelves == [{"notes": 2}, {"notes": 3}]


def test_a_file_of_records_beside_a_collection_with_names_of_their_own(
    notes: Path, tmp_path: Path, zipfian: Command, shelves: list[Any]
) -> None:
    assert zipfian("index", notes, "--into", tmp_path / "made.zf")[0] == 0
    records = tmp_path / "records.v2.jsonl"
    records.write_text('{"id": "x", "text": "Rivers carry stones."}\n')
    code, _, err = serve(zipfian, f"rivers={records}", tmp_path / "made.zf", "--index")
    assert code == 0, err
    assert (tmp_path / "records.v2.zf").is_dir()
    assert shelves == [{"rivers": 1, "made": 2}]


def test_all_questions_come_before_the_first_work(
    notes: Path, tmp_path: Path, zipfian: Command, shelves: list[Any], types: Callable[[str], Any]
) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "x", "text": "Rivers carry stones."}\n')
    types("y\nn\n")
    assert serve(zipfian, notes, more)[0] == 1
    assert not notes.with_suffix(".zf").exists()


def test_the_folder_one_is_in_has_a_name(
    notes: Path, zipfian: Command, shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    assert serve(zipfian, "notes=.", "--index")[0] == 0
    assert shelves == [{"notes": 2}]
    assert notes.with_suffix(".zf").is_dir()
    assert sorted(os.listdir(notes)) == ["plants.txt", "stones.txt"]


def test_what_is_not_there_and_what_was_a_collection_are_not_offered(
    tmp_path: Path, zipfian: Command, shelves: list[Any], types: Callable[[str], Any]
) -> None:
    types("y\ny\n")
    code, _, err = serve(zipfian, tmp_path / "nowhere")
    assert (code, "[y/N]" in err) == (1, False)
    assert "no such folder" in err
    (tmp_path / "lost.zf").mkdir()
    code, _, err = serve(zipfian, tmp_path / "lost.zf")
    assert (code, "[y/N]" in err) == (1, False)
    assert "not a collection" in err


def test_the_log_is_given_back_when_the_service_ends(notes: Path, zipfian: Command, shelves: list[Any]) -> None:
    """A handler that stays would write to a standard error that is long closed."""
    logs = [logging.getLogger(name) for name in ("zipfian.serve", "uvicorn.error")]
    before = [(log.handlers[:], log.level, log.propagate) for log in logs]
    assert serve(zipfian, notes, "--index")[0] == 0
    assert shelves == [{"notes": 2}]
    assert [(log.handlers[:], log.level, log.propagate) for log in logs] == before
