"""The one place where picture files are decoded: JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF and HEIC to RGB pixels.

The first frame or page is used, rotated as its EXIF entry says, and laid on white where it is transparent. Colour
profiles are ignored. A file that is too large in bytes, pixels, parts or in what decoding it would take is an error
before it is decoded; a damaged one is an error that names it, never half a picture.
"""

from __future__ import annotations

import importlib
import io
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfian.encode._orientation import exif_bytes, orientation
from zipfian.encode._skeleton import check_parts, kind_of
from zipfian.errors import ImageUnreadable, InvalidInput, LimitExceeded, MissingExtra
from zipfian.limits import MAX_IMAGE_BYTES, MAX_IMAGE_MEMORY, MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE, MAX_JPEG_PIXELS
from zipfian.storage.regular import look, read_regular

if TYPE_CHECKING:
    from PIL import Image

Pixels = npt.NDArray[np.uint8]
ImageSource = str | os.PathLike[str] | bytes | Pixels
"""A file, its bytes, or pixels (height, width, 3) that are already decoded."""

FORMATS = {
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "WEBP": ("PIL.WebPImagePlugin", "WebPImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
    "BMP": ("PIL.BmpImagePlugin", "BmpImageFile"),
    "TIFF": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "AVIF": ("PIL.AvifImagePlugin", "AvifImageFile"),
    "HEIF": ("pillow_heif", "HeifImageFile"),
}
"""Module and class of the reader of each format; no other of Pillow's readers is ever tried."""

SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".heif", ".hif"}
)
"""File names that are worth trying; what a file holds is decided by its content."""

_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    OverflowError,
    RuntimeError,
    struct.error,
)
"""What Pillow and the reader of HEIC raise for files that are not what they say."""

_LARGE = 32 * 1024 * 1024
"""Pictures that take more than this are decoded one at a time, however many threads there are."""
_one_large = threading.RLock()

_BAND = 1 << 20
"""Pixels that are converted at once."""

_STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Bytes that Pillow keeps for a pixel, where it is not four."""
_WEBP_BYTES = 12
"""Per pixel, measured: two canvases and a copy, which live as long as the file is open."""
_AVIF_BYTES = 12
"""Per pixel: three planes in 16 bits, and the picture before it is Pillow's; 6 measured in the usual 8 bits."""
_STRIP_BYTES = 8
"""Per pixel: a strip of a TIFF may be the whole page, in 16 bits a channel."""
_COEFFICIENT_BYTES = 2
"""Per pixel and component of a JPEG in several passes."""


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
    with decoded(source, reduce_to=reduce_to) as image:
        return image


@contextmanager
def decoded(source: ImageSource, *, reduce_to: int | None = None) -> Iterator[Image.Image]:
    """The picture as `decode` gives it, for as long as the block lasts.

    Threads that shrink what they decode use this: only one of them holds a large picture at any time. Memory that runs
    out in the block makes the picture unreadable too.
    """
    if isinstance(source, np.ndarray):
        yield _from_pixels(source)
        return
    if not isinstance(source, str | os.PathLike | bytes):
        raise InvalidInput(f"a picture is a path, bytes or an array of pixels, not {type(source).__name__}")
    name = name_of(source)
    with ExitStack() as held:
        size = len(source) if isinstance(source, bytes) else look(source, MAX_IMAGE_BYTES).st_size
        if size > _LARGE:
            held.enter_context(_one_large)
        try:
            opened = _Opened(_read(source, name), name, reduce_to)
            if opened.needs > _LARGE:
                held.enter_context(_one_large)
            yield opened.to_rgb()
        except MemoryError as error:
            raise ImageUnreadable(name, "there is not enough memory to decode it; save it smaller") from error


def look_at(source: str | os.PathLike[str] | bytes) -> tuple[int, int, bytes]:
    """Width and height of a picture as it is seen, and its EXIF, as it stands in the file; nothing is decoded."""
    name = name_of(source)
    return _Opened(_read(source, name), name, None).head()


class _Opened:
    """A picture file whose head has been read and found to be within every limit."""

    def __init__(self, data: bytes, name: str, reduce_to: int | None) -> None:
        pillow = _pillow()
        kind = kind_of(data)
        if kind is None:
            raise ImageUnreadable(name, f"no picture of a known format ({', '.join(FORMATS)})")
        self._name, self._data = name, data
        parts = check_parts(data, kind, name)
        self._coded = parts.coded
        reader = _reader(kind, name)
        try:
            self._image = reader(io.BytesIO(data))
            _check_size(self._image, name, MAX_JPEG_PIXELS if kind == "JPEG" else MAX_IMAGE_PIXELS)
            full = self._image.width * self._image.height
            if (
                reduce_to is not None and kind == "JPEG"
            ):  # a HEIC would show its thumbnail, which may be of something else
                self._image.draft(None, (reduce_to, reduce_to))
            _check_size(self._image, name, MAX_IMAGE_PIXELS)
            self._turn = orientation(self._image)
        except pillow.DecompressionBombError as error:
            raise LimitExceeded(f"{name}: more than {MAX_IMAGE_PIXELS:,} pixels") from error
        except _DAMAGE as error:
            if isinstance(error, LimitExceeded):
                raise
            raise _damaged(name, error) from error
        self.needs = len(data) + self._pixel_bytes(kind) + (self._coefficients(full) if parts.passes > 1 else 0)
        if self.needs > MAX_IMAGE_MEMORY:
            raise LimitExceeded(
                f"{name}: decoding its {self.size} pixels ({kind}, {self._image.mode}) would take {self.needs:,} bytes "
                f"of memory, more than {MAX_IMAGE_MEMORY:,}; save it smaller"
            )

    @property
    def size(self) -> str:
        """For messages."""
        return f"{self._image.width:,} x {self._image.height:,}"

    def head(self) -> tuple[int, int, bytes]:
        """Width and height when it is upright, and EXIF; of a TIFF that is the file itself."""
        with self._image as image:
            width, height = image.size
            exif = self._data if image.format == "TIFF" else exif_bytes(image.info)
        return (height, width, exif) if self._turn >= 5 else (width, height, exif)

    def to_rgb(self) -> Image.Image:
        """Decode it."""
        try:
            with self._image as image:
                image.load()
                return _to_rgb(_upright(image, self._turn), self._name)
        except _DAMAGE as error:
            if isinstance(error, ImageUnreadable):
                raise
            raise _damaged(self._name, error) from error

    def _pixel_bytes(self, kind: str) -> int:
        """What pixels take at the peak: as stored, beside what the decoder holds or what they are turned into."""
        image = self._image
        stored = _STORED.get(image.mode, 4)
        made: float = (stored if self._turn != 1 else 0) + (0 if image.mode == "RGB" else 4)
        if kind == "WEBP":
            made += _WEBP_BYTES
        elif kind == "TIFF":
            made = max(made, _STRIP_BYTES)
        elif kind == "AVIF":
            made += _AVIF_BYTES
        elif kind == "HEIF":
            made += _heif_bytes(image)
        return int(max(image.width * image.height, self._coded) * (stored + made))

    def _coefficients(self, pixels: int) -> int:
        """A JPEG in several passes is held whole at full size, however small it is decoded."""
        return int(pixels * _COEFFICIENT_BYTES * max(1, self._image.layers))


def _reader(kind: str, name: str) -> Any:
    module, reader = FORMATS[kind]
    try:
        return getattr(importlib.import_module(module), reader)
    except ImportError as error:
        raise ImageUnreadable(name, "a HEIC picture; to read those: pip install 'zipfian[heic]'") from error


def _heif_bytes(image: Image.Image) -> float:
    """Per pixel: the planes of the decoder, and the picture in bytes before it is Pillow's."""
    deep = 2 if image.info.get("bit_depth", 16) > 8 else 1
    colours = {400: 0.0, 420: 0.5, 422: 1.0}.get(image.info.get("chroma", 444), 2.0)
    channels = len(image.getbands())
    return deep * (1 + colours + (channels in (2, 4)) + channels)


def _damaged(name: str, error: Exception) -> ImageUnreadable:
    return ImageUnreadable(name, f"damaged or cut short ({error or type(error).__name__})")


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
        data = read_regular(source, MAX_IMAGE_BYTES)
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


def _check_size(image: Image.Image, name: str, most: int) -> None:
    width, height = image.size
    if width * height > most:
        raise LimitExceeded(f"{name}: {width:,} x {height:,} pixels are more than {most:,} pixels")
    if max(width, height) > MAX_IMAGE_SIDE:
        raise LimitExceeded(f"{name}: a side of {max(width, height):,} pixels is longer than {MAX_IMAGE_SIDE:,}")


def _upright(image: Image.Image, turn: int) -> Image.Image:
    """Rotated and mirrored as EXIF counts: 1 is upright."""
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
    return image if turn == 1 else image.transpose(turns[turn])


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
    """Three colours, a band of rows at a time: whole pictures on the way would take several times the memory."""
    if image.mode == "F":
        raise ImageUnreadable(name, "pixels are floating-point numbers, for which no brightness is agreed on")
    if image.mode == "RGB" and not image.has_transparency_data:
        image.load()
        return image
    out: Image.Image = _pillow().new("RGB", image.size)
    rows = max(1, _BAND // image.width)
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        out.paste(_band_to_rgb(band), (0, top))
    return out


def _band_to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits a pixel, in 16 or 32
        shades = np.clip(np.asarray(image, dtype=np.int64), 0, 0xFFFF) >> 8
        return _pillow().fromarray(shades.astype(np.uint8)).convert("RGB")  # type: ignore[no-any-return]
    if image.has_transparency_data:
        pasted = image.convert("RGBA")
        white = _pillow().new("RGBA", pasted.size, (255, 255, 255, 255))
        return _pillow().alpha_composite(white, pasted).convert("RGB")  # type: ignore[no-any-return]
    return image.convert("RGB")
