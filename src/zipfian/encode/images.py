"""The one place where picture files are decoded: JPEG, PNG, WebP, GIF, BMP and TIFF to RGB pixels.

The first frame or page is used, rotated as its EXIF entry says, and laid on white where it is transparent. Colour
profiles are ignored. A file that is too large in bytes, pixels or frames is an error before it is decoded; a damaged
one is an error that names it, never half a picture.
"""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import ImageUnreadable, InvalidInput, LimitExceeded, MissingExtra
from zipfian.limits import MAX_IMAGE_BYTES, MAX_IMAGE_FRAMES, MAX_IMAGE_PIXELS

if TYPE_CHECKING:
    from PIL import Image

Pixels = npt.NDArray[np.uint8]
ImageSource = str | os.PathLike[str] | bytes | Pixels
"""A file, its bytes, or pixels (height, width, 3) that are already decoded."""

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
"""File names that are worth trying; what a file holds is decided by its content."""

_ORIENTATION = 0x0112
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, OverflowError, struct.error)
"""What Pillow raises for files that are not what they say."""


def name_of(source: ImageSource) -> str:
    """How to call a source in a message."""
    if isinstance(source, bytes):
        return f"<{len(source):,} bytes>"
    if isinstance(source, np.ndarray):
        return f"<pixels {'x'.join(map(str, source.shape))}>"
    return os.fspath(source)


def decode(source: ImageSource, *, reduce_to: int | None = None) -> Image.Image:
    """The picture in RGB, upright.

    With `reduce_to` a large JPEG may be decoded at a half, a quarter or an eighth of its size, as long as both sides
    keep that many pixels: several times faster when a small copy is all that is needed.
    """
    pillow = _pillow()
    if isinstance(source, np.ndarray):
        return _from_pixels(source)
    if not isinstance(source, str | os.PathLike | bytes):
        raise InvalidInput(f"a picture is a path, bytes or an array of pixels, not {type(source).__name__}")
    name = name_of(source)
    data = _read(source, name)
    try:
        with pillow.open(io.BytesIO(data), formats=FORMATS) as image:
            _check_size(image, name)
            if reduce_to is not None:
                image.draft(None, (reduce_to, reduce_to))
            image.load()
            return _to_rgb(_upright(image), name)
    except (LimitExceeded, ImageUnreadable):
        raise
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise LimitExceeded(f"{name}: more than {MAX_IMAGE_PIXELS:,} pixels") from error
    except pillow.UnidentifiedImageError as error:
        raise ImageUnreadable(name, f"no picture of a known format ({', '.join(FORMATS)})") from error
    except _DAMAGE as error:
        raise ImageUnreadable(name, f"damaged or cut short ({error or type(error).__name__})") from error


def _pillow() -> Any:
    try:
        import PIL.Image
    except ImportError as error:
        raise MissingExtra("reading pictures", "image") from error
    return PIL.Image


def _read(source: str | os.PathLike[str] | bytes, name: str) -> bytes:
    if isinstance(source, bytes):
        data = source
    else:
        with Path(source).open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    if len(data) > MAX_IMAGE_BYTES:
        raise LimitExceeded(f"{name}: more than {MAX_IMAGE_BYTES:,} bytes")
    if not data:
        raise ImageUnreadable(name, "the file is empty")
    return data


def _from_pixels(pixels: Pixels) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise InvalidInput(f"pixels must be uint8 (height, width, 3), not {pixels.dtype} {pixels.shape}")
    if pixels.shape[0] * pixels.shape[1] > MAX_IMAGE_PIXELS:
        raise LimitExceeded(f"{name_of(pixels)}: more than {MAX_IMAGE_PIXELS:,} pixels")
    image: Image.Image = _pillow().fromarray(np.ascontiguousarray(pixels))
    return image


def _check_size(image: Image.Image, name: str) -> None:
    width, height = image.size
    if width * height > MAX_IMAGE_PIXELS:
        raise LimitExceeded(f"{name}: {width:,} x {height:,} pixels are more than {MAX_IMAGE_PIXELS:,}")
    frames = getattr(image, "n_frames", 1)
    if frames > MAX_IMAGE_FRAMES:
        raise LimitExceeded(f"{name}: {frames:,} frames are more than {MAX_IMAGE_FRAMES:,}")


def _upright(image: Image.Image) -> Image.Image:
    """Rotated and mirrored as the EXIF entry says; an unreadable entry says nothing."""
    transpose = _pillow().Transpose
    turns = {
        2: transpose.FLIP_LEFT_RIGHT,
        3: transpose.ROTATE_180,
        4: transpose.FLIP_TOP_BOTTOM,
        5: transpose.TRANSPOSE,
        6: transpose.ROTATE_270,
        7: transpose.TRANSVERSE,
        8: transpose.ROTATE_90,
    }
    try:
        turn = turns.get(image.getexif().get(_ORIENTATION, 1))
    except _DAMAGE:
        turn = None
    return image if turn is None else image.transpose(turn)


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode == "F":
        raise ImageUnreadable(name, "pixels are floating-point numbers, for which no brightness is agreed on")
    if image.mode.startswith("I"):  # 16 bits a pixel, in 16 or 32
        shades = np.clip(np.asarray(image, dtype=np.int64), 0, 0xFFFF) >> 8
        return _pillow().fromarray(shades.astype(np.uint8)).convert("RGB")  # type: ignore[no-any-return]
    if image.has_transparency_data:
        pasted = image.convert("RGBA")
        white = _pillow().new("RGBA", pasted.size, (255, 255, 255, 255))
        return _pillow().alpha_composite(white, pasted).convert("RGB")  # type: ignore[no-any-return]
    return image if image.mode == "RGB" else image.convert("RGB")
