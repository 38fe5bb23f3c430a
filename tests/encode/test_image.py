"""The image encoder against the reference implementation, and the promises of its docstrings."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.conftest import DATA
from zipfian.encode import Encoder, ImageEncoder
from zipfian.encode.images import decode
from zipfian.encode.registry import register
from zipfian.errors import ImageUnreadable, InvalidInput, LimitExceeded
from zipfian.types import Encoded


def drawing(side: int = 384) -> Any:
    """A disc on waves, the picture that the reference implementation was given."""
    y, x = np.mgrid[0:side, 0:side].astype(np.float64) / side
    red = 127 + 127 * np.sin(9 * x + 3 * y * y)
    green = 255 * ((x - 0.5) ** 2 + (y - 0.45) ** 2 < 0.08) + 60 * y
    blue = 127 + 100 * np.cos(25 * x * y)
    return np.clip(np.stack([red, green, blue], -1), 0, 255).astype(np.uint8)


def png(pixels: Any, mode: str = "RGB") -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(out, "PNG")
    return out.getvalue()


def test_vectors_are_those_of_the_reference_implementation(image_encoder: ImageEncoder) -> None:
    (encoded,) = image_encoder.encode_documents([drawing()])
    with np.load(DATA / "efficientnet.npz", allow_pickle=False) as reference:
        patches, pooled = reference["patches"], reference["pooled"]
    difference = np.abs(encoded.vectors[[0, 13, 77, 143]] - patches).max()
    cosine = float(encoded.pooled @ pooled)
    print(f"largest difference of a patch component {difference:.1e}, cosine of the pooled vectors {cosine:.7f}")
    assert difference < 1e-3
    assert cosine > 0.99999


def test_shapes(image_encoder: ImageEncoder) -> None:
    (encoded,) = image_encoder.encode_documents([drawing(100)])
    assert encoded.vectors.shape == (144, 1280) and encoded.vectors.dtype == np.float32
    assert encoded.grid == image_encoder.grid == (12, 12)
    assert encoded.places[:13].tolist() == [[0, c] for c in range(12)] + [[1, 0]]
    assert encoded.pieces.tolist() == [-1] * 144
    assert np.linalg.norm(encoded.pooled) == pytest.approx(1)
    mean = encoded.vectors.mean(axis=0, dtype=np.float64)
    assert np.allclose(encoded.pooled, mean / np.linalg.norm(mean), atol=1e-6)
    assert image_encoder.count_tokens([b"", b""]) == [144, 144]
    assert isinstance(image_encoder, Encoder)


def test_a_patch_sees_its_own_place(image_encoder: ImageEncoder) -> None:
    flat = np.full((384, 384, 3), 120, dtype=np.uint8)
    marked = flat.copy()
    marked[32:64, 320:352] = drawing(32)
    a, b = image_encoder.encode_documents([flat, marked])
    change = np.linalg.norm(a.vectors - b.vectors, axis=1).reshape(12, 12)
    row, column = np.unravel_index(change.argmax(), change.shape)
    assert abs(int(row) - 1) <= 1 and abs(int(column) - 10) <= 1
    assert change[11, 0] < change.max() / 4


def test_a_picture_is_the_same_bits_in_any_company(image_encoder: ImageEncoder, lite2: object) -> None:
    pictures = [drawing(n) for n in (40, 384, 200)] + [np.zeros((9, 90, 3), dtype=np.uint8)]
    together = image_encoder.encode_documents(pictures)
    alone = [ImageEncoder(threads=1).encode_queries([p])[0] for p in pictures[:2]]
    reversed_ = image_encoder.encode_documents(pictures[::-1])[::-1]
    for a, b in [*zip(together, reversed_, strict=True), *zip(together, alone, strict=False)]:
        assert np.array_equal(a.vectors, b.vectors) and np.array_equal(a.pooled, b.pooled)


def test_extreme_pictures(image_encoder: ImageEncoder, tmp_path: Path) -> None:
    from PIL import Image

    shapes = [(1, 1), (1, 3000), (3000, 1)]
    for encoded in image_encoder.encode_documents([np.full((*shape, 3), 99, dtype=np.uint8) for shape in shapes]):
        assert np.isfinite(encoded.vectors).all() and encoded.vectors.shape == (144, 1280)
    cmyk, palette = tmp_path / "cmyk.jpg", tmp_path / "palette.png"
    Image.fromarray(drawing()).convert("CMYK").save(cmyk, quality=95)
    Image.fromarray(drawing()).quantize(256).save(palette)
    for path in (cmyk, palette):
        from_file, from_pixels = image_encoder.encode_documents([path, np.asarray(decode(path))])
        assert np.array_equal(from_file.pooled, from_pixels.pooled)


def test_a_bad_picture_is_fatal_or_skipped_but_never_half_there(image_encoder: ImageEncoder, tmp_path: Path) -> None:
    good = png(drawing(64))
    cut = tmp_path / "cut.png"
    cut.write_bytes(good[: len(good) // 2])
    with pytest.raises(ImageUnreadable, match=r"cut\.png"):
        image_encoder.encode_documents([good, cut, good])
    with pytest.raises(FileNotFoundError):
        image_encoder.encode_documents([good, tmp_path / "none.png"])
    outcomes = image_encoder.try_documents([good, cut, tmp_path / "none.png", good])
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [Encoded, ImageUnreadable, FileNotFoundError, Encoded]
    with pytest.raises(InvalidInput, match="a list of pictures"):
        image_encoder.encode_documents(good)  # type: ignore[arg-type]


def test_huge_pictures_are_refused_before_they_are_decoded(image_encoder: ImageEncoder) -> None:
    from tests.encode.test_images import png_header

    with pytest.raises(LimitExceeded):
        image_encoder.encode_documents([png_header(30_000, 30_000)])


def test_progress(image_encoder: ImageEncoder) -> None:
    calls: list[tuple[int, int]] = []
    image_encoder.encode_documents([drawing(32)] * 3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_fits(lite2: object) -> None:
    wide = np.zeros((100, 400, 3), dtype=np.uint8)
    wide[:, :50] = 255
    assert ImageEncoder(fit="whole").pixels(wide)[:, :40].min() == 255
    assert ImageEncoder(fit="crop").pixels(wide).max() == 0
    assert ImageEncoder(size=64).pixels(wide).shape == (64, 64, 3)
    assert ImageEncoder(size=256).grid == (8, 8)


@pytest.mark.parametrize(
    "settings",
    [{"size": 100}, {"size": 32}, {"size": 2048}, {"fit": "pad"}, {"threads": 0}]
    + [{"crops": wrong} for wrong in (5, "1x1", "5x5", "2x", "", "2x2:0.4", "2x2:1", "2x2:")]
    + [{"block": wrong} for wrong in (-1, 21, True, "head")],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ImageEncoder(**settings)


def test_the_fingerprint_covers_what_changes_vectors_and_nothing_else() -> None:
    base = ImageEncoder().fingerprint
    assert base == ImageEncoder(threads=1).fingerprint
    assert len({base, ImageEncoder(256).fingerprint, ImageEncoder(fit="crop").fingerprint}) == 3
    assert ImageEncoder(crops="2x2").fingerprint not in (base, ImageEncoder(crops="1x2").fingerprint)


def test_tiles_are_looked_at_beside_the_whole(image_encoder: ImageEncoder, lite2: object) -> None:
    wide = np.concatenate([drawing(384), np.full((384, 384, 3), 120, dtype=np.uint8)], axis=1)
    encoder = ImageEncoder(crops="1x2", threads=1)
    (whole,), (tiled,) = image_encoder.encode_documents([wide]), encoder.encode_documents([wide])
    (left,) = image_encoder.encode_documents([drawing(384)])
    assert encoder.count_tokens([wide]) == [432] == [len(tiled.vectors)]
    assert tiled.grid == (12, 12)
    assert np.array_equal(tiled.vectors[:144], whole.vectors) and np.array_equal(tiled.places[:144], whole.places)
    assert np.allclose(tiled.vectors[144:288], left.vectors, atol=1e-4)  # the left half is that picture
    rows, columns = tiled.places[144:288].T
    assert rows.tolist() == whole.places[:, 0].tolist()
    assert columns.max() == 5 and tiled.places[288:, 1].min() == 6
    (right,) = image_encoder.encode_documents([wide[:, 384:]])
    mean = whole.pooled + left.pooled + right.pooled
    assert np.allclose(tiled.pooled, mean / np.linalg.norm(mean), atol=1e-4)


def test_a_patch_of_a_tile_is_reported_where_it_is(lite2: object) -> None:
    flat = np.full((768, 768, 3), 120, dtype=np.uint8)
    marked = flat.copy()
    marked[500:564, 100:164] = drawing(64)
    encoder = ImageEncoder(crops="2x2", threads=2)
    a, b = encoder.encode_documents([flat, marked])
    change = np.linalg.norm(a.vectors - b.vectors, axis=1)
    for view in range(5):
        part = slice(144 * view, 144 * (view + 1))
        if change[part].max() > 0.5 * change.max():
            row, column = b.places[part][change[part].argmax()].tolist()
            assert abs(row - 8) <= 1 and abs(column - 2) <= 1
    assert change[144 * 3 : 144 * 4].max() == change[144:].max()  # the lower left tile has it


def test_tiles_may_overlap(lite2: object) -> None:
    wide = np.concatenate([drawing(384), drawing(384)], axis=1)
    (tiled,) = ImageEncoder(crops="1x2:0.75", threads=1).encode_documents([wide])
    (left,) = ImageEncoder(threads=1).encode_documents([wide[:, :576]])
    mean = tiled.vectors[144:288].mean(axis=0)
    assert left.pooled @ mean / np.linalg.norm(mean) > 0.999  # resizing looks a pixel beyond the edge of a tile
    assert (tiled.places[144:288, 1].min(), tiled.places[144:288, 1].max()) == (0, 8)
    assert (tiled.places[288:, 1].min(), tiled.places[288:, 1].max()) == (3, 11)
    assert tiled.places[144:, 0].tolist() == 2 * tiled.places[:144, 0].tolist()


def test_settings_survive_a_manifest() -> None:
    spec = register(ImageEncoder(crops="2x2"))
    assert json.loads(spec.settings)["crops"] == "2x2"
    assert "crops" not in json.loads(register(ImageEncoder()).settings)
    assert ImageEncoder(**json.loads(spec.settings)).fingerprint == spec.fingerprint


@pytest.mark.parametrize(("block", "side", "channels"), [(20, 12, 352), (14, 24, 120)])
def test_patches_of_an_earlier_block(
    image_encoder: ImageEncoder, lite2: object, block: int, side: int, channels: int
) -> None:
    encoder = ImageEncoder(block=block, threads=1)
    (early,), (last,) = encoder.encode_documents([drawing()]), image_encoder.encode_documents([drawing()])
    assert early.vectors.shape == (side * side, channels) == (encoder.count_tokens([b""])[0], encoder.dim)
    assert early.grid == encoder.grid == (side, side)
    assert np.array_equal(early.pooled, last.pooled)
    assert encoder.fingerprint != image_encoder.fingerprint
    spec = register(encoder)
    assert ImageEncoder(**json.loads(spec.settings)).fingerprint == spec.fingerprint
    # at the last block, one more convolution with its norm is all that is missing to the patches of the head
    if block == 20:
        from zipfian.encode import converted
        from zipfian.encode.efficientnet import EPSILON

        w = converted.load()
        head = early.vectors @ w["_conv_head.weight"][:, :, 0, 0].T
        gain = w["_bn1.weight"] / np.sqrt(w["_bn1.running_var"] + EPSILON)
        head = np.clip((head - w["_bn1.running_mean"]) * gain + w["_bn1.bias"], 0.0, 6.0)
        assert np.allclose(head, last.vectors, atol=2e-3)
