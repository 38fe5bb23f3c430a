from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.conftest import Touch
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_captions


def test_our_jsonl(captions: tuple[Path, Path]) -> None:
    found = load_captions(*captions)
    assert (found.split, len(found.pictures), sum(len(p.captions) for p in found.pictures)) == ("test", 12, 60)
    assert found.pictures[0].captions[1] == "red thing0 seen twice"
    assert len(load_captions(*captions, "dev").pictures) == 1
    assert len(load_captions(*captions, "all").pictures) == 13


def test_an_empty_split_names_those_there(captions: tuple[Path, Path]) -> None:
    with pytest.raises(InvalidInput, match="'val' is empty; there are: dev, test"):
        load_captions(*captions, "val")


def test_names_may_carry_the_folder(tmp_path: Path, touch: Touch) -> None:
    touch(tmp_path / "images" / "a.jpg")
    (tmp_path / "c.jsonl").write_text('{"image": "images/a.jpg", "split": "test", "captions": ["x"]}')
    for folder in (tmp_path, tmp_path / "images"):
        found = load_captions(tmp_path / "c.jsonl", folder).pictures[0]
        assert (found.id, found.path) == ("images/a.jpg", tmp_path / "images" / "a.jpg")


def test_coco(tmp_path: Path, touch: Touch) -> None:
    for name in ("1.jpg", "2.jpg", "3.jpg"):
        touch(tmp_path / "val" / name)
    data = {
        "images": [{"id": i, "file_name": f"{i}.jpg"} for i in (1, 2, 3)],
        "annotations": [
            {"id": 9, "image_id": 1, "caption": " second "},
            {"id": 3, "image_id": 1, "caption": "first"},
            {"id": 4, "image_id": 2, "caption": "other"},
        ],
    }
    (tmp_path / "coco.json").write_text(json.dumps(data))
    found = load_captions(tmp_path / "coco.json", tmp_path / "val")
    assert found.split == "all"
    assert [p.captions for p in found.pictures] == [("first", "second"), ("other",)]  # picture 3 has no caption


def test_karpathy(tmp_path: Path, touch: Touch) -> None:
    rows: list[dict[str, Any]] = []
    for i, split in enumerate(("train", "restval", "test")):
        touch(tmp_path / "val2014" / f"{i}.jpg")
        rows.append(
            {"filepath": "val2014", "filename": f"{i}.jpg", "split": split, "sentences": [{"raw": f"text {i}"}]}
        )
    (tmp_path / "k.json").write_text(json.dumps({"images": rows}))
    assert [p.id for p in load_captions(tmp_path / "k.json", tmp_path).pictures] == ["val2014/2.jpg"]
    assert len(load_captions(tmp_path / "k.json", tmp_path, "train").pictures) == 2


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("c.jsonl", "", "holds no picture with captions"),
        ("c.jsonl", '{"image": "a.jpg"}', "c.jsonl:1"),
        ("c.jsonl", '{"image": "zzz.jpg", "split": "test", "captions": ["x"]}', "no such file, but"),
        ("c.jsonl", '{"image": "a.jpg", "split": "test", "captions": []}', "has no caption"),
        ("c.jsonl", '{"image": "a.jpg", "captions": ["x"]}\n{"image": "a.jpg", "captions": ["y"]}', "is there twice"),
        ("c.json", "{", "not JSON"),
        ("c.json", "[]", "neither COCO captions nor a Karpathy split"),
        ("c.json", '{"images": [{"filename": "a.jpg"}]}', "a field is missing"),
    ],
)
def test_bad_caption_files(tmp_path: Path, touch: Touch, name: str, text: str, problem: str) -> None:
    touch(tmp_path / "images" / "a.jpg")
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        load_captions(tmp_path / name, tmp_path / "images")


def test_missing_places(captions: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such folder"):
        load_captions(captions[0], tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"gone\.jsonl"):
        load_captions(tmp_path / "gone.jsonl", captions[1])
