"""The picture decoder: every format and colour mode to RGB, and a named error for everything else."""

from __future__ import annotations

import io
import os
import random
import socket
import struct
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.scenes import saved, scene
from tests.hostile import picture_files
from zipfian.encode import images
from zipfian.encode._skeleton import check_parts
from zipfian.encode.cache import content_hash
from zipfian.encode.images import decode
from zipfian.errors import ImageUnreadable, InvalidInput, LimitExceeded, NotAFile

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install 'zipfian[image]'")


def close(image: Any, expected: Any, most: int = 30) -> bool:
    a, b = np.asarray(image, dtype=int), np.asarray(expected, dtype=int)
    return a.shape == b.shape and float(np.abs(a - b).mean()) < most / 3


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"quality": 95}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"quality": 90}),
        ("GIF", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
def test_every_format(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / f"picture.{kind.lower()}"
    path.write_bytes(saved(scene(), kind, **options))
    for source in (path, str(path), path.read_bytes()):
        found = decode(source)
        assert found.mode == "RGB"
        assert close(found, scene(), 12)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("CMYK", "JPEG"),
        ("CMYK", "TIFF"),
        ("P", "PNG"),
        ("P", "GIF"),
        ("P", "BMP"),
        ("RGBA", "PNG"),
        ("RGBA", "WEBP"),
        ("YCbCr", "JPEG"),
        ("LAB", "TIFF"),
    ],
)
def test_every_colour_mode(mode: str, kind: str) -> None:
    if mode == "LAB":
        from PIL import ImageCms

        profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        image = ImageCms.profileToProfile(scene(), *profiles, outputMode="LAB")
    else:
        image = scene().quantize(8) if mode == "P" else scene().convert(mode)
    options = {"quality": 95} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}
    assert close(decode(saved(image, kind, **options)), scene(), 45)


@pytest.mark.parametrize("mode", ["L", "1", "LA"])
def test_grey(mode: str) -> None:
    found = np.asarray(decode(saved(scene().convert("L").convert(mode), "PNG")))
    assert found.shape == (40, 60, 3)
    assert (found[..., 0] == found[..., 1]).all() and (found[..., 0] == found[..., 2]).all()


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    shades = np.linspace(0, 65_535, 64 * 8).reshape(8, 64).astype(np.uint16)
    for kind in ("PNG", "TIFF"):
        found = np.asarray(decode(saved(Image.fromarray(shades), kind)))
        assert np.abs(found[..., 0].astype(int) - (shades >> 8)).max() <= 1


def test_floating_point_pixels_are_refused() -> None:
    image = Image.fromarray(np.ones((4, 4), dtype=np.float32))
    with pytest.raises(ImageUnreadable, match="floating-point"):
        decode(saved(image, "TIFF"))


def test_transparency_is_laid_on_white() -> None:
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert (np.asarray(decode(saved(clear, "PNG"))) == 255).all()
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([0, 0, 0] * 256)
    assert (np.asarray(decode(saved(palette, "GIF", transparency=0))) == 255).all()
    assert (np.asarray(decode(saved(palette, "PNG", transparency=0))) == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation(orientation: int) -> None:
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(scene(), "JPEG", exif=exif, quality=95)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    found = decode(data)
    assert found.size == ((40, 60) if orientation >= 5 else (60, 40))
    assert np.array_equal(np.asarray(found), np.asarray(expected))
    assert close(decode(saved(scene(), "PNG", exif=exif)), expected, 12)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_unreadable_exif_means_no_rotation() -> None:
    data = saved(scene(), "JPEG", exif=b"Exif\x00\x00MM\x00*\x00\x00\xff\xff", quality=95)
    assert close(decode(data), scene(), 12)


def test_the_first_frame_is_used() -> None:
    others = [Image.new("RGB", (60, 40), c) for c in ((0, 0, 0), (255, 255, 255))]
    for kind in ("GIF", "WEBP", "TIFF", "PNG"):
        data = saved(scene(), kind, save_all=True, append_images=others)
        assert close(decode(data), scene(), 20), kind


def test_large_jpegs_may_be_reduced_while_decoding() -> None:
    data = saved(scene(1600, 800), "JPEG", quality=95)
    assert decode(data).size == (1600, 800)
    assert decode(data, reduce_to=100).size == (200, 100)
    assert decode(data, reduce_to=500).size == (1600, 800)
    assert close(decode(data, reduce_to=100), scene(200, 100), 20)


def test_one_pixel() -> None:
    assert np.asarray(decode(saved(Image.new("RGB", (1, 1), (1, 2, 3)), "PNG"))).tolist() == [[[1, 2, 3]]]


def png_header(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [9_500, 13_000, 30_000, 2_000_000])
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_too_many_pixels(side: int) -> None:
    with pytest.raises(LimitExceeded, match="pixels"):
        decode(png_header(side, side))


@pytest.mark.filterwarnings("error::PIL.Image.DecompressionBombWarning")
def test_too_many_pixels_where_warnings_are_errors() -> None:
    with pytest.raises(LimitExceeded, match="pixels"):
        decode(png_header(11_000, 11_000))


def test_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 100)
    path = tmp_path / "big.png"
    path.write_bytes(saved(scene(), "PNG"))
    with pytest.raises(LimitExceeded, match=r"big\.png.*100 bytes"):
        decode(path)
    with pytest.raises(LimitExceeded, match="100 bytes"):
        decode(path.read_bytes())


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_truncated_files_are_named(kind: str, share: float, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = saved(Image.fromarray(noise), kind)
    path = tmp_path / f"cut.{kind.lower()}"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ImageUnreadable, match=path.name) as caught:
        decode(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    "data", [b"", b"not a picture", b"GIF89a", b"\xff\xd8\xff", b"<svg/>", b"%!PS-Adobe-3.0", png_header(50, 50)]
)
def test_no_pictures(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(data)
    with pytest.raises(ImageUnreadable, match=r"photo\.jpg"):
        decode(path)


def test_other_formats_are_not_even_tried() -> None:
    with pytest.raises(ImageUnreadable, match="known format"):
        decode(saved(scene(), "PPM"))


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_damage_anywhere_gives_a_picture_or_our_error() -> None:
    random = np.random.default_rng(1)
    for kind in ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"):
        data = np.frombuffer(saved(scene(), kind), dtype=np.uint8)
        for _ in range(60):
            damaged = data.copy()
            places = random.integers(0, min(len(data), 200), 3)
            damaged[places] = random.integers(0, 256, 3)
            try:
                assert decode(damaged.tobytes()).mode == "RGB"
            except (ImageUnreadable, LimitExceeded):
                pass


def test_pixels_as_they_are() -> None:
    pixels = np.asarray(scene())
    assert np.array_equal(np.asarray(decode(pixels)), pixels)
    for wrong in (pixels.astype(np.float32), pixels[..., 0], pixels[:0], pixels[..., :2]):
        with pytest.raises(InvalidInput, match="uint8"):
            decode(wrong)
    with pytest.raises(InvalidInput, match="path, bytes or an array"):
        decode(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        decode("no/such/file.png")


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.png"))
    for name, kind in (("pipe", "a pipe"), ("folder", "a folder"), ("socket", "a socket")):
        with pytest.raises(NotAFile, match=f"{kind}, not a regular file"):
            decode(tmp_path / f"{name}.png")
        with pytest.raises(NotAFile):
            content_hash(tmp_path / f"{name}.png", "image")
    with pytest.raises(NotAFile, match="a device"):
        decode("/dev/zero")
    with pytest.raises(NotAFile, match="not the name of a file"):
        decode("a\0b.png")


@pytest.mark.parametrize(("width", "height"), [(65_536, 1), (1, 65_536), (80_000_000, 1)])
def test_a_side_too_long(width: int, height: int) -> None:
    with pytest.raises(LimitExceeded, match="is longer than 65,535"):
        decode(png_header(width, height))


def test_sides_at_the_limit_are_taken() -> None:
    assert decode(saved(Image.new("L", (65_535, 1)), "PNG")).size == (65_535, 1)


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (picture_files.many_chunks, "100,000 chunks"),
        (picture_files.padding, "65,536 bytes of padding"),
        (picture_files.empty_segments, "100,000 segments"),
        (picture_files.exif_in_pieces, "16,777,216 bytes before its pixels"),
        (picture_files.many_passes, "64 passes"),
        (picture_files.gif_remarks, "100,000 blocks"),
        (picture_files.tiff_tags, "16,777,216 bytes of tags"),
        (picture_files.tiff_strips, "100,000 strips"),
        (picture_files.run_lengths, "2,097,152 pixels in run lengths"),
        (picture_files.slow_runs, "bytes of run lengths"),
        (picture_files.deep_pixels, "bytes of memory"),
        (picture_files.tiff_deep, "bytes of memory"),
        (picture_files.webp_canvas, "bytes of memory"),
    ],
)
def test_bombs_are_refused_before_they_go_off(forge: Any, problem: str) -> None:
    with pytest.raises(LimitExceeded, match=problem):
        decode(forge(random.Random(0)))


@pytest.mark.parametrize("forge", [picture_files.tiff_pages, picture_files.gif_frames])
def test_frames_are_not_counted(forge: Any) -> None:
    assert decode(forge(random.Random(0))).size == (1, 1)


def test_a_photograph_of_a_hundred_megapixels_is_decoded_small() -> None:
    data = saved(Image.new("L", (12_000, 9_000), 90), "JPEG", quality=30)
    assert decode(data, reduce_to=768).size == (1_500, 1_125)
    with pytest.raises(LimitExceeded, match="more than 89,478,485 pixels"):
        decode(data)


def test_a_jpeg_in_passes_is_counted_at_its_full_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its coefficients are all in memory, however small it is decoded; those of a single pass are not."""
    monkeypatch.setattr(images, "MAX_IMAGE_MEMORY", 20_000_000)
    picture = Image.new("RGB", (2_000, 2_000), "gray")
    assert decode(saved(picture, "JPEG"), reduce_to=250).size == (250, 250)
    with pytest.raises(LimitExceeded, match="bytes of memory"):
        decode(saved(picture, "JPEG", progressive=True), reduce_to=250)


def test_conversion_in_bands_equals_conversion_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(3)
    rgba = Image.fromarray(noise.integers(0, 255, (50, 40, 4), np.uint8), "RGBA")
    deep = Image.fromarray(noise.integers(0, 65_535, (50, 40), np.uint16))
    files = [saved(rgba, "PNG"), saved(deep, "PNG"), saved(scene().convert("CMYK"), "TIFF")]
    files.append(saved(scene().quantize(8), "PNG", transparency=2))
    whole = [np.asarray(decode(data)) for data in files]
    monkeypatch.setattr(images, "_BAND", 100)
    for data, expected in zip(files, whole, strict=True):
        assert np.array_equal(np.asarray(decode(data)), expected)


def test_memory_that_runs_out_makes_a_picture_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saved(scene(), "PNG")

    def fail(*_: object) -> None:
        raise MemoryError

    with pytest.raises(ImageUnreadable, match="not enough memory"), images.decoded(data):
        fail()
    monkeypatch.setattr(images, "_to_rgb", fail)
    with pytest.raises(ImageUnreadable, match="not enough memory"):
        decode(data)


def test_large_pictures_are_held_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    data, held, most = saved(scene(), "PNG"), 0, 0
    lock = threading.Lock()

    def use(_: int) -> None:
        nonlocal held, most
        with images.decoded(data):
            with lock:
                held += 1
                most = max(most, held)
            time.sleep(0.01)
            with lock:
                held -= 1

    def together() -> int:
        nonlocal most
        most = 0
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(use, range(8)))
        return most

    assert together() > 1
    monkeypatch.setattr(images, "_LARGE", len(data) - 1)  # by its bytes
    assert together() == 1
    monkeypatch.setattr(images, "_LARGE", len(data) + 1)  # by its pixels
    assert together() == 1


def test_turning_and_converting_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    flat, turned = (saved(Image.new("RGB", (1_000, 1_000)), "PNG", exif=e) for e in (None, exif))
    clear = saved(Image.new("RGBA", (1_000, 1_000)), "PNG")
    monkeypatch.setattr(images, "MAX_IMAGE_MEMORY", 7_000_000)
    assert decode(flat).size == (1_000, 1_000)
    for data in (turned, clear):
        with pytest.raises(LimitExceeded, match="bytes of memory"):
            decode(data)


@pytest.mark.parametrize(("at_once", "passes"), [(3, 1), (1, 2)])
def test_components_that_come_one_by_one_count_as_passes(at_once: int, passes: int) -> None:
    frame = picture_files.segment(0xC0, b"\x08\0\x08\0\x08\x03" + bytes(9))
    scan = picture_files.segment(0xDA, bytes([at_once]) + bytes(2 * at_once + 3))
    assert check_parts(b"\xff\xd8" + frame + scan + b"\xff\xd9", "JPEG", "x").passes == passes


@pytest.mark.parametrize(
    "exif",
    [
        b"Exif\0\0" + picture_files.exif_bomb(10_000, 900),
        b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x0112, 3, 2, 6),
        b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x0112, 7, 1, 6),
        b"II*\0\xff\xff\xff\xff",
        b"MM\0*\0\0\0\x08\xff\xff",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_odd_exif_means_no_rotation(exif: bytes) -> None:
    assert decode(saved(scene(), "PNG", exif=exif)).size == (60, 40)
