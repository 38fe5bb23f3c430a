"""HEIC and AVIF: decoded like other pictures, upright, and bounded before a decoder sees them."""

from __future__ import annotations

import io
import random
import struct
import sys
from typing import Any

import numpy as np
import pytest

from tests.encode.scenes import saved, scene
from tests.hostile import picture_files
from zipfian.encode._av1 import frame_sizes
from zipfian.encode._skeleton import check_parts, kind_of
from zipfian.encode.images import decode
from zipfian.errors import ImageUnreadable, LimitExceeded
from zipfian.serve.pictures import thumbnail

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install 'zipfian[image]'")

HEIF = pytest.param(
    "HEIF",
    marks=pytest.mark.skipif(
        "HEIF" not in picture_files.KINDS,
        reason="NO HEIC TESTS: pillow-heif is not installed: pip install 'zipfian[heic]'",
    ),
)
KINDS = pytest.mark.parametrize("kind", ["AVIF", HEIF])


def exif(orientation: int) -> bytes:
    made = Image.Exif()
    made[0x0112] = orientation
    made[0x010F] = "Camera of a secret place"
    return bytes(made.tobytes())


@KINDS
@pytest.mark.parametrize("orientation", range(1, 9))
def test_they_are_decoded_upright(kind: str, orientation: int) -> None:
    from PIL import ImageOps

    plain = saved(scene(96, 64), "PNG", exif=exif(orientation))
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(plain))), dtype=int)
    found = np.asarray(decode(saved(scene(96, 64), kind, exif=exif(orientation), quality=90)), dtype=int)
    assert found.shape == expected.shape
    assert float(np.abs(found - expected).mean()) < 8


@KINDS
def test_transparency_is_laid_on_white(kind: str) -> None:
    clear = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
    assert np.asarray(decode(saved(clear, kind))).min() > 245


@KINDS
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_cut_files_are_named(kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = saved(Image.fromarray(noise), kind)
    with pytest.raises(ImageUnreadable, match="bytes>: "):
        decode(data[: int(len(data) * share)])


@KINDS
def test_damage_anywhere_gives_a_picture_or_our_error(kind: str) -> None:
    chance = np.random.default_rng(1)
    data = np.frombuffer(saved(scene(96, 64), kind, exif=exif(6)), dtype=np.uint8)
    for _ in range(100):
        damaged = data.copy()
        damaged[chance.integers(0, len(data), 3)] = chance.integers(0, 256, 3)
        try:
            assert decode(damaged.tobytes()).mode == "RGB"
        except (ImageUnreadable, LimitExceeded):
            pass


@KINDS
def test_a_thumbnail_keeps_nothing_of_the_file(kind: str) -> None:
    data = saved(scene(96, 64), kind, exif=exif(1))
    assert b"secret" in data
    small = thumbnail(data, 32)
    assert b"secret" not in small
    assert not Image.open(io.BytesIO(small)).getexif()


def test_the_frame_of_a_stream_counts_not_what_boxes_say() -> None:
    data = picture_files.avif(640, 480)
    assert check_parts(data, "AVIF", "x").coded == 640 * 480
    lying = data.replace(struct.pack(">II", 640, 480), struct.pack(">II", 64, 48))
    assert check_parts(lying, "AVIF", "x").coded == 640 * 480


def test_sequence_headers_in_both_forms() -> None:
    def header(bits: str) -> bytes:
        whole = bits + "0" * (-len(bits) % 8)
        body = int(whole, 2).to_bytes(len(whole) // 8, "big")
        return b"\x0a" + bytes([len(body)]) + body

    size = "1000" + "0111" + f"{299:09b}" + f"{199:08b}"
    short = "000" + "1" + "1" + "00000" + size
    assert list(frame_sizes(b"\x12\0" + header(short))) == [(300, 200)]
    timed = "1" + "0" * 64 + "1" + "00101" + "1" + "00111" + "0" * 42  # equal intervals, a decoder of 8-bit delays
    point = "0" * 12 + "01000" + "0" + "1" + "0" * 17 + "1" + "0000"  # tier, delays, delay of the display
    long = "000" + "0" + "0" + timed + "1" + "00000" + point + size
    assert list(frame_sizes(header(long) + header(short))) == [(300, 200), (300, 200)]


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (picture_files.avif_lie, "bytes of memory"),
        (picture_files.avif_exif, "16,777,216 bytes of tags"),
        (picture_files.tiles_again, "pixels in its tiles"),
        (picture_files.many_items, "4,096 items"),
        (picture_files.many_boxes, "100,000 boxes"),
        (picture_files.exif_of_all, "16,777,216 bytes of metadata"),
    ],
)
def test_bombs_are_refused_before_they_go_off(forge: Any, problem: str) -> None:
    with pytest.raises(LimitExceeded, match=problem):
        decode(forge(random.Random(0)))


def test_tiles_that_cover_a_picture_are_no_bomb() -> None:
    grid = struct.pack(">BBBBHH", 0, 0, 11, 15, 8_064, 6_048)
    data = picture_files.items(
        b"heic",
        [b"grid"] + [b"hvc1"] * 192,
        [grid] + [b"x"] * 192,
        [(8_064, 6_048)] + [(512, 512)] * 192,
        list(range(2, 194)),
    )
    assert check_parts(data, "HEIF", "x").coded == 0


def test_an_avif_that_moves_says_what_to_do() -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "blue")]
    data = saved(frames[0], "AVIF", save_all=True, append_images=frames[1:])
    with pytest.raises(ImageUnreadable, match="save one picture of it"):
        decode(data)


def test_the_format_is_told_by_the_brands() -> None:
    assert kind_of(b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic") == "HEIF"
    assert kind_of(b"\0\0\0\x18ftypmif1\0\0\0\0miafavif") == "AVIF"
    assert kind_of(b"\0\0\0\x18ftypisom\0\0\0\0mp41avc1") is None


def test_without_the_extra_a_heic_says_how_to_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    data = picture_files.items(b"heic", [b"hvc1"], [b"x"], [(4, 4)], [])
    with pytest.raises(ImageUnreadable, match=r"pip install 'zipfian\[heic\]'"):
        decode(data)
