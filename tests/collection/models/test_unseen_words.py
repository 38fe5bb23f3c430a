"""A search for what the picture model was never taught finds nothing, and says why."""

from __future__ import annotations

from pathlib import Path

import zipfian as zf
from tests.cli.conftest import RED, picture


def test_nothing_is_found_rather_than_anything(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", RED)
    with zf.Collection.create(tmp_path / "c.zf", fields=["visual", "aligned", "translated"]) as pictures:
        pictures.add([{"id": "a", "image": str(tmp_path / "a.png")}])
        pictures.commit()
        assert [hit.id for hit in pictures.search("a dog")] == ["a"]
        found = pictures.search("sunflower penguin")
        named = pictures.search("sunflower", fields="aligned")
    assert len(found) == 0
    assert found.notes == [
        "not known to the picture model: sunflower, penguin; aligned and translated took no part "
        "(to ask all the same: fields='aligned', --fields aligned)"
    ]
    assert [hit.id for hit in named] == ["a"]
    assert named.notes[0] == "not known to the picture model: sunflower"
