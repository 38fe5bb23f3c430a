"""The command line on a collection in a cluster: the commands that a folder knows, by its address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zipfian.cli import main


def test_a_life_from_the_command_line(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def zipfian(*arguments: object) -> Any:
        code = main([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out)

    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("a.txt", "plants make food from light"), ("b.txt", "cats sleep"), ("c.txt", "light rain")):
        (notes / name).write_text(text)
    done = zipfian("index", notes, "--into", address, "--fields", "words")
    assert (done["into"], done["added"], done["total"]) == (address, 3, 3)
    assert zipfian("index", notes, "--into", address)["unchanged"] == 3
    found = zipfian("search", address, "light", "--highlight")["hits"]
    assert [hit["id"] for hit in found] == ["c.txt", "a.txt"]
    assert found[0]["highlights"] == [[0, 5]]
    assert zipfian("explain", address, "light", "c.txt")["value"] == pytest.approx(found[0]["score"])
    assert zipfian("inspect", address)["documents"] == 3
    assert zipfian("delete", address, "c.txt") == {"removed": ["c.txt"], "missing": [], "total": 2}
    assert zipfian("merge", address)["total"] == 2
    assert [hit["id"] for hit in zipfian("search", address, "light")["hits"]] == ["a.txt"]
    (notes / "b.txt").unlink()
    assert zipfian("index", notes, "--into", address)["removed"] == 1
    assert zipfian("inspect", address)["documents"] == 2
