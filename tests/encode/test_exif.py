"""What cameras write into pictures: read where it is plausible, left out where it is not, bounded throughout."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import picture_files
from zipfian.encode.exif import photo_metadata

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install 'zipfian[image]'")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZE = {"width": 60, "height": 40}


def photo(
    path: Path,
    taken: str = "2024:07:14 19:30:05",
    place: tuple[Any, Any, str, str] | None = ((48, 8, 15), (11, 34, 30), "N", "E"),
    make: str = "Canon",
    model: str = "Canon EOS R6",
    turned: int = 1,
    kind: str | None = None,
) -> Path:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x0112] = make, model, turned
    exif.get_ifd(0x8769)[0x9003] = taken
    if place is not None:
        latitude, longitude, north, east = place
        exif.get_ifd(0x8825).update({1: north, 2: latitude, 3: east, 4: longitude})
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (60, 40), "green").save(path, kind, exif=exif)
    return path


HEIF = pytest.param(
    "HEIF",
    ".heic",
    marks=pytest.mark.skipif("HEIF" not in picture_files.KINDS, reason="NO HEIC TESTS: pillow-heif is not installed"),
)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("JPEG", ".jpg"), ("PNG", ".png"), ("WEBP", ".webp"), ("AVIF", ".avif"), HEIF],
)
def test_time_camera_place_and_size(kind: str, suffix: str, tmp_path: Path) -> None:
    found = photo_metadata(photo(tmp_path / f"a{suffix}", kind=kind), NOW)
    assert found == {
        "taken": datetime(2024, 7, 14, 19, 30, 5, tzinfo=UTC),
        "camera": "Canon EOS R6",
        "latitude": 48.1375,
        "longitude": 11.575,
        **SIZE,
    }


def test_a_tiff_is_its_own_exif(tmp_path: Path) -> None:
    assert photo_metadata(photo(tmp_path / "a.tif"), NOW) | {"camera": "Canon EOS R6", **SIZE} == photo_metadata(
        tmp_path / "a.tif", NOW
    )


def test_a_picture_without_exif_has_a_size(tmp_path: Path) -> None:
    Image.new("RGB", (60, 40)).save(tmp_path / "a.png")
    assert photo_metadata(tmp_path / "a.png", NOW) == SIZE


def test_the_size_is_that_of_the_upright_picture(tmp_path: Path) -> None:
    found = photo_metadata(photo(tmp_path / "a.jpg", turned=6), NOW)
    assert (found["width"], found["height"]) == (40, 60)


@pytest.mark.parametrize(
    "taken",
    [
        "0000:00:00 00:00:00",
        "2024:13:01 00:00:00",
        "1825:12:31 00:00:00",
        "2026:01:02 00:00:01",
        "",
        "today",
        "9" * 100,
    ],
)
def test_a_clock_that_lies_is_not_asked(taken: str, tmp_path: Path) -> None:
    assert "taken" not in photo_metadata(photo(tmp_path / "a.jpg", taken), NOW)


def test_a_clock_a_day_ahead_is_another_time_zone(tmp_path: Path) -> None:
    found = photo_metadata(photo(tmp_path / "a.jpg", "2026:01:02 00:00:00"), NOW)
    assert found["taken"] == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (((33, 51, 0), (151, 12, 36), "S", "E"), (-33.85, 151.21)),
        (((90, 0, 0), (180, 0, 0), "N", "W"), (90.0, -180.0)),
        (((90, 0, 1), (0, 0, 1), "N", "W"), None),
        (((10, 0, 0), (180, 0, 1), "N", "W"), None),
        (((10, 60, 0), (10, 0, 0), "N", "W"), None),
        (((10, 0, 60), (10, 0, 0), "N", "W"), None),
        (((10, 0, 0), (10, 0, 0), "X", "W"), None),
        (((10, 0, 0), (10, 0, 0), "N", ""), None),
        (((0, 0, 0), (0, 0, 0), "N", "E"), None),
        (None, None),
    ],
)
def test_places_are_on_earth(place: Any, expected: Any, tmp_path: Path) -> None:
    found = photo_metadata(photo(tmp_path / "a.jpg", place=place), NOW)
    got = (found["latitude"], found["longitude"]) if "latitude" in found else None
    assert got == expected
    assert ("latitude" in found) == ("longitude" in found)


@pytest.mark.parametrize(
    ("make", "model", "expected"),
    [
        ("Apple", "iPhone 15 Pro", "Apple iPhone 15 Pro"),
        ("NIKON CORPORATION", "NIKON D750", "NIKON D750"),
        ("", "X100", "X100"),
        ("", "", None),
        ("A\x1b[2J", "b\r\nc", "A [2J b c"),
        ("Maker", "x" * 120, "Maker " + "x" * 74),
    ],
)
def test_cameras_have_a_name_that_can_be_shown(make: str, model: str, expected: str | None, tmp_path: Path) -> None:
    assert photo_metadata(photo(tmp_path / "a.jpg", make=make, model=model), NOW).get("camera") == expected


@pytest.mark.parametrize(
    "exif",
    [
        picture_files.exif_bomb(10_000, 900),
        b"II*\0\xff\xff\xff\xff",
        b"MM\0*\0\0\0\x08\xff\xff",
        b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x8825, 4, 1, 8) + bytes(4),  # a place that is the start again
        b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x010F, 2, 0xFFFFFFFF, 8) + bytes(4),
        b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x010F, 2, 100, 0xFFFFFFF0) + bytes(4),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_odd_exif_says_nothing(exif: bytes, tmp_path: Path) -> None:
    Image.new("RGB", (60, 40)).save(tmp_path / "a.png", exif=exif)
    assert photo_metadata(tmp_path / "a.png", NOW) == SIZE


def test_what_is_no_picture_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("no picture")
    assert photo_metadata(tmp_path / "a.jpg", NOW) == {}
    assert photo_metadata(tmp_path / "gone.jpg", NOW) == {}
