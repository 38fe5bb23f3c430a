"""`zipfian check` on a real collection, whole and damaged."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("zipfian.collection") is None, reason="zipfian.collection is not part of this checkout"
)


@pytest.fixture
def path(tmp_path: Path, zipfian: Command) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Plants make food from light and water.")
    assert zipfian("index", tmp_path / "notes", "--into", tmp_path / "c.zf", "--fields", "words")[0] == 0
    return tmp_path / "c.zf"


def test_a_whole_collection(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("check", path)
    assert code == 0
    assert "no damage in" in out
    assert json.loads(zipfian("check", path, "--json")[1])["ok"] is True


def test_every_damaged_file_is_named(path: Path, zipfian: Command) -> None:
    """Also where the collection can no longer be opened."""
    victims = [p for p in path.iterdir() if p.stat().st_size > 100 and p.suffix != ".json"]
    for victim in victims:
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    code, out, _ = zipfian("check", path)
    assert code == 1
    assert victims
    assert all(victim.name in out for victim in victims)


def test_what_is_not_a_collection(tmp_path: Path, zipfian: Command) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        code, out, err = zipfian("check", path)
        assert (code, out) == (1, "")
        assert err.startswith("zipfian: ")
        assert err.count("\n") == 1
