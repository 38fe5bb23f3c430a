"""What a camera wrote into a picture: when, with what and where it was taken, and how large it is.

EXIF is a small TIFF whose entries point anywhere, and anybody can write anything there. A handful of entries is read,
each of a bounded size; what no camera would write is left out as if it were not there.
"""

from __future__ import annotations

import math
import os
import struct
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from zipfian.encode.images import look_at
from zipfian.errors import ImageUnreadable, LimitExceeded, MissingExtra
from zipfian.limits import MAX_EXIF_ENTRIES

EXIF_COLUMNS: Mapping[str, str] = {
    "taken": "date", "camera": "string", "latitude": "number", "longitude": "number",
    "width": "integer", "height": "integer",
}  # fmt: skip
"""The columns that a picture fills, and their types."""

_MAKE, _MODEL, _CHANGED, _EXIF, _GPS = 0x010F, 0x0110, 0x0132, 0x8769, 0x8825
_ORIGINAL, _DIGITISED = 0x9003, 0x9004
_NORTH, _LATITUDE, _EAST, _LONGITUDE = 1, 2, 3, 4

_ASCII, _SHORT, _LONG, _RATIONAL, _DIRECTORY = 2, 3, 4, 5, 13
_TEXT_BYTES = 128
_CAMERA_CHARS = 80
_FIRST_PHOTOGRAPH = 1826

Tags = dict[int, Any]


def photo_metadata(path: str | os.PathLike[str], now: datetime | None = None) -> dict[str, Any]:
    """What a picture says of itself, as metadata; nothing of a file that is no readable picture.

    `taken` is what the camera's clock showed, without its zone: a summer evening stays one wherever it is looked at.
    """
    try:
        width, height, exif = look_at(path)
    except (OSError, ImageUnreadable, LimitExceeded, MissingExtra):
        return {}  # whoever decodes it will say what is wrong
    out: dict[str, Any] = {"width": width, "height": height}
    main = _tags(exif, None)
    inner = _tags(exif, main.get(_EXIF))
    texts = (inner.get(_ORIGINAL), inner.get(_DIGITISED), main.get(_CHANGED))
    latest = (now or datetime.now(UTC)) + timedelta(days=1)
    if taken := next((when for text in texts if (when := _when(text, latest))), None):
        out["taken"] = taken
    if camera := _camera(main.get(_MAKE), main.get(_MODEL)):
        out["camera"] = camera
    gps = _tags(exif, main.get(_GPS))
    latitude = _degrees(gps.get(_LATITUDE), gps.get(_NORTH), "NS", 90)
    longitude = _degrees(gps.get(_LONGITUDE), gps.get(_EAST), "EW", 180)
    if latitude is not None and longitude is not None and (latitude, longitude) != (0, 0):  # 0, 0: no satellite seen
        out |= {"latitude": latitude, "longitude": longitude}
    return out


def _tags(data: bytes, at: Any) -> Tags:
    """The short entries of a directory, at its place or, without one, of the first."""
    data = data.removeprefix(b"Exif\0\0")
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4])
    out: Tags = {}
    if order is None:
        return out
    try:
        if at is None:
            (at,) = struct.unpack_from(order + "I", data, 4)
        elif not isinstance(at, int):
            return out
        (entries,) = struct.unpack_from(order + "H", data, at)
        for place in range(at + 2, at + 2 + 12 * min(entries, MAX_EXIF_ENTRIES), 12):
            tag, kind, count = struct.unpack_from(order + "HHI", data, place)
            value = _value(data, order, kind, count, place + 8)
            if value is not None:
                out.setdefault(tag, value)
    except struct.error:
        pass  # cut short: what was read so far is good
    return out


def _value(data: bytes, order: str, kind: int, count: int, at: int) -> Any:
    """A text, a whole number or three fractions; None for all else."""
    if kind == _ASCII and 1 <= count <= _TEXT_BYTES:
        if count > 4:
            (at,) = struct.unpack_from(order + "I", data, at)
        return data[at : at + count].partition(b"\0")[0].decode("utf-8", "replace")
    if kind in (_SHORT, _LONG, _DIRECTORY) and count == 1:
        return struct.unpack_from(order + ("H" if kind == _SHORT else "I"), data, at)[0]
    if kind == _RATIONAL and count == 3:
        (at,) = struct.unpack_from(order + "I", data, at)
        parts = struct.unpack_from(order + "6I", data, at) if at + 24 <= len(data) else (0,) * 6
        return tuple(zip(parts[::2], parts[1::2], strict=True))
    return None


def _when(text: Any, latest: datetime) -> datetime | None:
    """A time as cameras write it; None for a clock that was never set, or runs ahead of ours."""
    try:
        found = datetime.strptime(str(text).strip(), "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return found if found.year >= _FIRST_PHOTOGRAPH and found <= latest else None


def _camera(make: Any, model: Any) -> str:
    """Maker and model, without saying the maker twice."""
    make, model = (_shown(text) if isinstance(text, str) else "" for text in (make, model))
    first = make.split(" ")[0].casefold()
    return (model if first and model.casefold().startswith(first) else f"{make} {model}".strip())[:_CAMERA_CHARS]


def _shown(text: str) -> str:
    """What can be read of a text: no control characters, and one space between words."""
    seen = (" " if unicodedata.category(char)[0] in "CZ" or char == "\ufffd" else char for char in text)
    return " ".join("".join(seen).split())


def _degrees(parts: Any, side: Any, sides: str, most: float) -> float | None:
    """Degrees, minutes and seconds as one number, to about a centimetre; south and west are below zero."""
    if not isinstance(parts, tuple) or not isinstance(side, str) or side[:1].upper() not in tuple(sides):
        return None
    if any(below == 0 for _, below in parts):
        return None
    degrees, minutes, seconds = (float(above / below) for above, below in parts)
    if minutes >= 60 or seconds >= 60:
        return None
    value = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(value) or value > most:
        return None
    return round(-value if side[:1].upper() == sides[1] else value, 7) + 0.0
