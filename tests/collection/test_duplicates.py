"""Duplicates: the groups that comparing all pairs gives, by contents first and by vectors then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from zipfian.cli import main
from zipfian.collection import duplicates
from zipfian.errors import InvalidInput


def collection_of(path: Path, vectors: Any, contents: list[dict[str, Any]] | None = None) -> zf.Collection:
    """Documents d0, d1 ... in two segments, with these vectors."""
    made = zf.Collection.create(path, {"dense": zf.Dense(vector="default")})
    items = [{"id": f"d{i}", "vector": list(map(float, row))} for i, row in enumerate(vectors)]
    for item, more in zip(items, contents or [], strict=False):
        item.update(more)
    half = len(items) // 2
    for part in (items[:half], items[half:]):
        made.add(part)
        made.commit()
    return made


def all_pairs(vectors: Any, threshold: float) -> list[list[str]]:
    """Groups by comparing everything with everything, and joining until nothing changes."""
    rows = np.asarray(vectors, np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    label = list(range(len(rows)))
    for a, b in zip(*np.nonzero(rows @ rows.T >= threshold), strict=True):
        old, new = max(label[a], label[b]), min(label[a], label[b])
        label = [new if one == old else one for one in label]
    groups = [[f"d{i}" for i, one in enumerate(label) if one == top] for top in sorted(set(label))]
    return [group for group in groups if len(group) > 1]


@pytest.mark.parametrize("dim", [3, 200])
@pytest.mark.parametrize("threshold", [0.8, 0.95])
def test_groups_are_those_of_all_pairs(
    dim: int, threshold: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "_BLOCK", 16)
    monkeypatch.setattr(duplicates, "_ROWS", 10)
    monkeypatch.setattr(duplicates, "_SHORT", 2)  # most of a vector is in what is left
    chance = np.random.default_rng(dim)
    centres = chance.normal(size=(12, dim))
    vectors = centres[chance.integers(0, 12, 70)] + chance.normal(size=(70, dim)) * 0.22
    expected = all_pairs(vectors.astype(np.float32), threshold)
    assert len(expected) > 1
    with collection_of(tmp_path / "c.zf", vectors) as made:
        found = made.duplicates(threshold)
    assert [list(group.ids) for group in found] == expected
    assert all(not group.exact and threshold - 1e-6 <= group.similarity <= 1 for group in found)


def test_the_same_contents_come_first_and_are_not_said_twice(tmp_path: Path) -> None:
    hashes = ["a" * 64, "b" * 64, "a" * 64, "c" * 64]
    contents: list[dict[str, Any]] = [{"metadata": {"_image_sha256": one}} for one in hashes]
    vectors = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0.1]]
    with collection_of(tmp_path / "c.zf", vectors, contents) as made:
        found = made.duplicates(0.99)
    assert [(group.ids, group.exact) for group in found] == [(("d0", "d2"), True), (("d1", "d3"), False)]
    assert found[1].similarity == pytest.approx(1 / np.sqrt(1.01))


def test_copies_of_one_join_what_is_like_it(tmp_path: Path) -> None:
    contents: list[dict[str, Any]] = [{"text": text} for text in ("one  text", "another", "one\ntext")]
    with collection_of(tmp_path / "c.zf", [[1, 0], [1, 0.01], [1, 0]], contents) as made:
        found = made.duplicates()
    assert [(group.ids, group.exact) for group in found] == [(("d0", "d2"), True), (("d0", "d1", "d2"), False)]


def test_what_is_deleted_or_has_no_vector_is_left_out(tmp_path: Path) -> None:
    with collection_of(tmp_path / "c.zf", [[1, 0], [1, 0], [1, 0]]) as made:
        made.add([{"id": "bare"}, {"id": "bare too"}])
        made.delete(["d1"])
        made.commit()
        assert [group.ids for group in made.duplicates()] == [("d0", "d2")]


def test_settings_are_checked(tmp_path: Path) -> None:
    with collection_of(tmp_path / "c.zf", [[1, 0]]) as made:
        for wrong in (0.4, 1.1, float("nan"), True, "high"):
            with pytest.raises(InvalidInput, match=r"cosine from 0\.5 to 1"):
                made.duplicates(wrong)
        with pytest.raises(InvalidInput, match="fields with vectors: dense"):
            made.duplicates(field="words")
        assert made.duplicates() == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with collection_of(tmp_path / "c.zf", [[1, 0], [0, 1], [1, 0.01]]):
        pass
    assert main(["duplicates", str(tmp_path / "c.zf")]) == 0
    shown = capsys.readouterr().out
    assert "nearly the same (cosine from 1.000):\n  d0\n  d2\n" in shown
    assert "0 groups of the same, 1 of nearly the same; 3 documents" in shown
    assert main(["duplicates", str(tmp_path / "c.zf"), "--json", "--threshold", "0.99999"]) == 0
    assert json.loads(capsys.readouterr().out) == {"groups": [], "documents": 3}
    assert main(["duplicates", "opensearch://localhost:1/x"]) == 1
    assert "folder" in capsys.readouterr().err


def test_each_encoder_has_its_own_nearly() -> None:
    """gte-small gives texts on one subject a cosine of .9."""
    fields = (zf.Dense("text"), zf.Dense("image"), zf.Dense("text", encoder="gte-small"))
    assert [field.alike for field in fields] == [0.9, 0.9, 0.97]


def test_the_threshold_of_the_field_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.95, np.sqrt(1 - 0.95**2)]}
    with zf.Collection.create(tmp_path / "c.zf", {"dense": zf.Dense(vector="default")}) as made:
        made.add([{"id": id, "text": id, "vector": vector} for id, vector in vectors.items()])
        made.commit()
        assert [group.ids for group in made.duplicates()] == [("a", "b")]
        monkeypatch.setattr(zf.Dense, "alike", 0.97)
        assert made.duplicates() == []
        assert [group.ids for group in made.duplicates(0.9)] == [("a", "b")]
