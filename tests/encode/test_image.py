"""The image encoder against the reference implementation, and the promises of its docstrings."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.conftest import DATA
from zipfian.encode import Encoder, ImageEncoder
from zipfian.encode.images import decode
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
    streamed = list(image_encoder.stream_documents(iter(pictures[::-1])))[::-1]
    for a, b in [*zip(together, streamed, strict=True), *zip(together, alone, strict=False)]:
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


@pytest.mark.parametrize("settings", [{"size": 100}, {"size": 32}, {"size": 2048}, {"fit": "pad"}, {"threads": 0}])
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ImageEncoder(**settings)


def test_the_fingerprint_covers_what_changes_vectors_and_nothing_else() -> None:
    base = ImageEncoder().fingerprint
    assert base == ImageEncoder(threads=1).fingerprint
    assert len({base, ImageEncoder(256).fingerprint, ImageEncoder(fit="crop").fingerprint}) == 3
