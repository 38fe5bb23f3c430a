"""More like this picture of mine: the picture itself is found first, and is no reason to stop looking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import fields, picture
from tests.toys import ToyImage
from zipfian.errors import InvalidInput
from zipfian.rerank import AdaptiveK

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
CHOOSING: dict[str, Any] = {"method": "two-stage", "rerank_depth": AdaptiveK()}


@pytest.fixture
def mine(tmp_path: Path, sae: Path, image: ToyImage) -> zf.Collection:
    """A nearly red picture, and twenty that are blue for the most part."""
    made = zf.Collection.create(tmp_path / "mine.zf", fields(sae, image), encodings=False)
    made.add([{"id": "red", "image": picture(tmp_path / "red.png", RED, RED, RED, GREEN)}])
    made.add({"id": f"blue{i}", "image": picture(tmp_path / f"{i}.png", RED, BLUE, BLUE, BLUE)} for i in range(20))
    made.commit()
    return made


class TestHowManyAreReranked:
    def test_the_picture_itself_is_no_margin(self, mine: zf.Collection, tmp_path: Path) -> None:
        found = mine.search(image=tmp_path / "red.png", k=5, **CHOOSING)
        assert found[0].id == "red" and found.settings["choice"]["margin"] == 0.0
        assert found.settings["choice"]["K"] == AdaptiveK().most

    def test_nor_are_several_copies(self, mine: zf.Collection, tmp_path: Path) -> None:
        mine.add([{"id": "copy", "image": picture(tmp_path / "copy.png", RED, RED, RED, GREEN)}])
        mine.commit()
        found = mine.search(image=tmp_path / "red.png", k=5, **CHOOSING)
        assert {found[0].id, found[1].id} == {"red", "copy"} and found.settings["choice"]["margin"] == 0.0

    def test_another_picture_far_above_the_others_is_one(self, mine: zf.Collection, tmp_path: Path) -> None:
        found = mine.search(image=picture(tmp_path / "asked.png", RED), k=5, **CHOOSING)
        assert found[0].id == "red" and found.settings["choice"]["K"] == 0
        assert found.settings["choice"]["margin"] > AdaptiveK().skip_margin

    def test_nothing_but_copies(self, tmp_path: Path, sae: Path, image: ToyImage) -> None:
        made = zf.Collection.create(tmp_path / "few.zf", fields(sae, image), encodings=False)
        made.add({"id": f"{i}", "image": picture(tmp_path / f"{i}.png", RED)} for i in range(3))
        made.commit()
        found = made.search(image=tmp_path / "0.png", k=5, **CHOOSING)
        assert len(found) == 3 and found.settings["choice"]["reason"] == "fewer than two candidates"


class TestWithoutItself:
    @pytest.mark.parametrize(
        "how", [{}, CHOOSING, {"fields": "visual"}, {"fields": "dense"}, {"method": "rrf"}], ids=str
    )
    def test_the_others_in_their_order(self, mine: zf.Collection, tmp_path: Path, how: dict[str, Any]) -> None:
        asked = tmp_path / "red.png"
        every = [hit.id for hit in mine.search(image=asked, k=21, **how)]
        found = mine.search(image=asked, k=21, exclude_self=True, **how)
        assert [hit.id for hit in found] == every[1:]
        assert [hit.rank for hit in found] == list(range(1, 21))
        assert found.settings["exclude_self"] is True

    def test_copies_by_any_name_and_from_any_place(self, mine: zf.Collection, tmp_path: Path) -> None:
        same = (tmp_path / "red.png").read_bytes()
        (tmp_path / "other.png").write_bytes(same)
        mine.add([{"id": "copy", "image": tmp_path / "other.png"}])
        mine.commit()
        for asked in (same, tmp_path / "red.png", str(tmp_path / "other.png")):
            found = mine.search(image=asked, k=30, exclude_self=True)
            assert len(found) == 20 and not {"red", "copy"} & {hit.id for hit in found}

    def test_beside_a_filter(self, mine: zf.Collection, tmp_path: Path) -> None:
        where = {"image": {"in": [str(tmp_path / "red.png"), str(tmp_path / "3.png")]}}
        asked = tmp_path / "red.png"
        assert [hit.id for hit in mine.search(image=asked, where=where)] == ["red", "blue3"]
        found = mine.search(image=asked, where=where, exclude_self=True)
        assert [hit.id for hit in found] == ["blue3"] and found.settings["where"] == where

    def test_it_is_remembered_apart(self, mine: zf.Collection, tmp_path: Path) -> None:
        asked = tmp_path / "red.png"
        numbers = [len(mine.search(image=asked, k=30, exclude_self=own)) for own in (False, True, False, True)]
        assert numbers == [21, 20, 21, 20]

    def test_pictures_that_came_as_bytes_are_not_known_again(
        self, tmp_path: Path, sae: Path, image: ToyImage
    ) -> None:  # fmt: skip
        made = zf.Collection.create(tmp_path / "bytes.zf", fields(sae, image), encodings=False)
        asked = picture(tmp_path / "red.png", RED).read_bytes()
        made.add([{"id": "red", "image": asked}])
        made.commit()
        assert [hit.id for hit in made.search(image=asked, exclude_self=True)] == ["red"]

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"query": np.ones(32, np.float32)}, "exclude_self is about the picture that is looked for"),
            ({"image": np.zeros((8, 8, 3), np.uint8)}, "pixels have none"),
        ],
    )
    def test_refused(self, mine: zf.Collection, asked: dict[str, Any], said: str) -> None:
        with pytest.raises(InvalidInput, match=said):
            mine.search(**asked, exclude_self=True)

    def test_it_is_true_or_false(self, mine: zf.Collection, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="exclude_self is True or False, not 'red'"):
            mine.search(image=tmp_path / "red.png", exclude_self="red")  # type: ignore[arg-type]
