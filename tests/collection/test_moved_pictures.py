"""Pictures whose folder was moved are found again, and nothing else is taken for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import zipfian as zf
from zipfian.encode.picture_files import Stamp, told
from zipfian.errors import NotTrusted, PictureGone


def made(home: Path, *, stamped: bool = True) -> Path:
    """A collection beside a folder with one picture, three names deep."""
    folder = home / "photos" / "2024"
    folder.mkdir(parents=True)
    file = folder / "a.jpg"
    file.write_bytes(b"the picture")
    stamp = Stamp.take(file)
    assert stamp is not None
    with zf.Collection.create(home / "c.zf") as collection:
        metadata = {"image": str(file), **(stamp.metadata() if stamped else {})}
        collection.add([{"id": "a", "text": "one", "metadata": metadata}])
        collection.commit()
    return home / "c.zf"


def test_a_folder_moved_with_its_collection(tmp_path: Path) -> None:
    made(tmp_path / "old")
    shutil.move(tmp_path / "old", tmp_path / "new")
    with zf.Collection.open(tmp_path / "new" / "c.zf") as collection:
        assert collection.picture("a") == b"the picture"


@pytest.mark.parametrize("place", ["photos/2024", "2024", "."])
@pytest.mark.parametrize("stamped", [True, False])
def test_a_folder_that_is_named_anew(place: str, stamped: bool, tmp_path: Path) -> None:
    path = made(tmp_path / "old", stamped=stamped)
    (tmp_path / "new" / place).mkdir(parents=True)
    shutil.move(tmp_path / "old" / "photos" / "2024" / "a.jpg", tmp_path / "new" / place / "a.jpg")
    with zf.Collection.open(path, pictures=[tmp_path / "new"]) as collection:
        assert collection.picture("a") == b"the picture"


def test_another_picture_of_that_name_is_passed_over(tmp_path: Path) -> None:
    path = made(tmp_path / "old")
    for name, content in (("2024", b"not picture"), ("", b"the picture")):
        (tmp_path / "new" / name).mkdir(exist_ok=True, parents=True)
        (tmp_path / "new" / name / "a.jpg").write_bytes(content)
    shutil.rmtree(tmp_path / "old" / "photos")
    with zf.Collection.open(path, pictures=[tmp_path / "new"]) as collection:
        assert collection.picture("a") == b"the picture"


def test_a_picture_that_is_gone_says_what_to_do(tmp_path: Path) -> None:
    path = made(tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "photos")
    (tmp_path / "new").mkdir()
    with (
        zf.Collection.open(path, pictures=[tmp_path / "new"]) as collection,
        pytest.raises(PictureGone, match=r"a\.jpg: there is no such file any more") as caught,
    ):
        collection.picture("a")
    assert f"nor under that name in {tmp_path / 'new'}, {tmp_path / 'old'}" in str(caught.value)
    assert "--pictures FOLDER" in str(caught.value)
    assert "moved" in told(caught.value)
    assert str(tmp_path) not in told(caught.value)


def test_what_proves_nothing_is_not_looked_for_beside_the_collection(tmp_path: Path) -> None:
    made(tmp_path / "old", stamped=False)
    shutil.move(tmp_path / "old", tmp_path / "new")
    with zf.Collection.open(tmp_path / "new" / "c.zf") as collection, pytest.raises(NotTrusted):
        collection.picture("a")


@pytest.mark.parametrize("stamped", [True, False])
def test_links_and_climbing_paths_lead_nowhere(stamped: bool, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.jpg").write_bytes(b"the picture")
    path = made(tmp_path / "old", stamped=stamped)
    shutil.rmtree(tmp_path / "old" / "photos")
    (tmp_path / "new").mkdir()
    os.symlink(tmp_path / "secret" / "a.jpg", tmp_path / "new" / "a.jpg")
    error = PictureGone if stamped else NotTrusted
    with zf.Collection.open(path, pictures=[tmp_path / "new"]) as collection, pytest.raises(error):
        collection.picture("a")
    with zf.Collection.create(tmp_path / "d.zf") as other:
        other.add([{"id": "a", "text": "one", "metadata": {"image": "/gone/../secret/a.jpg"}}])
        other.commit()
    with zf.Collection.open(tmp_path / "d.zf", pictures=[tmp_path / "new"]) as collection, pytest.raises(NotTrusted):
        collection.picture("a")
