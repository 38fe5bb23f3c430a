"""`zipfian restore`: the way back that the error message of a damaged collection names."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from zipfian.cli import main


def test_restore_after_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.zf"
    with zf.Collection.create(path) as collection:
        collection.add([{"id": "a", "text": "first"}])
        older = collection.commit()
        collection.add([{"id": "b", "text": "second"}])
        collection.commit()
    newest = sorted(path.glob("manifest-*.json"))[-1]
    newest.write_bytes(newest.read_bytes()[:-10])
    assert main(["search", str(path), "first"]) == 1
    assert f"generation={older}" in capsys.readouterr().err
    assert main(["restore", str(path), str(older)]) == 0
    assert main(["search", str(path), "first"]) == 0
    assert "first" in capsys.readouterr().out
    with zf.Collection.open(path) as collection:
        assert list(collection.ids()) == ["a"]


def test_restore_unknown_generation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zf.Collection.create(tmp_path / "c.zf").close()
    assert main(["restore", str(tmp_path / "c.zf"), "99"]) == 1
    assert "generation 99" in capsys.readouterr().err
