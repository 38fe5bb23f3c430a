from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.conftest import Touch
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_holidays, load_revisited


@pytest.fixture
def oxford(tmp_path: Path, touch: Touch) -> tuple[Path, Path]:
    names = [f"i{n}" for n in range(6)]
    for name in (*names, "query0", "query1"):
        touch(tmp_path / "jpg" / f"{name}.jpg")
    truth = {
        "imlist": names,
        "qimlist": ["query0", "query1"],
        "gnd": [
            {"easy": [0], "hard": [1, 2], "junk": [3], "bbx": [1, 2, 30, 40]},
            {"easy": [4], "hard": [], "junk": [5], "bbx": [0, 0, 5, 5]},
        ],
    }
    path = tmp_path / "roxford.json"
    path.write_text(json.dumps(truth))
    return path, tmp_path / "jpg"


@pytest.mark.parametrize(
    ("level", "relevant", "ignored"),
    [
        ("easy", {"i0"}, {"i1", "i2", "i3"}),
        ("medium", {"i0", "i1", "i2"}, {"i3"}),
        ("hard", {"i1", "i2"}, {"i0", "i3"}),
    ],
)
def test_levels(oxford: tuple[Path, Path], level: Any, relevant: set[str], ignored: set[str]) -> None:
    data = load_revisited(*oxford, level)
    assert set(data.qrels["query0"]) == relevant
    assert data.ignore["query0"] == ignored
    image = data.queries["query0"].image
    assert image is not None and image.box == (1.0, 2.0, 30.0, 40.0)
    # the second query has nothing at the hard level and is left out there, as the benchmark does
    assert ("query1" in data.queries) == (level != "hard")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "gnd.pkl").write_bytes(b"never read")
    (tmp_path / "jpg").mkdir()
    with pytest.raises(InvalidInput, match="pickle can run any code"):
        load_revisited(tmp_path / "gnd.pkl", tmp_path / "jpg")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"imlist": ["i0", "missing"]}, "names the picture 'missing'"),
        ({"gnd": [{"easy": [99]}, {"easy": [0]}]}, "position 99 lies outside imlist"),
        ({"gnd": [{"easy": [True]}, {"easy": [0]}]}, "position True"),
        ({"gnd": [{"easy": [0]}]}, "2 queries but 1 ground truths"),
        ({"gnd": [{"easy": [0], "bbx": [5, 5, 1, 1]}, {"easy": [0]}]}, "the box of query 'query0' is empty"),
        ({"gnd": [{"easy": [0], "bbx": "no"}, {"easy": [0]}]}, "must be four numbers"),
    ],
)
def test_bad_ground_truth(oxford: tuple[Path, Path], change: dict[str, Any], problem: str) -> None:
    path, images = oxford
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidInput, match=problem):
        load_revisited(path, images)


def test_not_json_and_missing_fields(oxford: tuple[Path, Path]) -> None:
    path, images = oxford
    path.write_text("{")
    with pytest.raises(InvalidInput, match="not JSON"):
        load_revisited(path, images)
    path.write_text("{}")
    with pytest.raises(InvalidInput, match="imlist, qimlist and gnd"):
        load_revisited(path, images)
    with pytest.raises(InvalidInput, match="level must be one of"):
        load_revisited(path, images, "extreme")  # type: ignore[arg-type]


def test_holidays(tmp_path: Path, touch: Touch) -> None:
    for name in ("100000", "100001", "100002", "100100", "100101", "100200", "notes"):
        touch(tmp_path / "jpg" / f"{name}.jpg")
    data = load_holidays(tmp_path / "jpg")
    assert set(data.queries) == {"100000", "100100"}  # 100200 stands alone
    assert data.qrels["100000"] == {"100001": 1, "100002": 1}
    assert data.ignore["100000"] == {"100000"}
    assert data.n_docs == 6
    touch(tmp_path / "far" / "x.jpg")
    assert load_holidays(tmp_path / "jpg", tmp_path / "far").n_docs == 7
    with pytest.raises(InvalidInput, match="named with a number"):
        load_holidays(tmp_path / "far")
