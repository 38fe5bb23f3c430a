"""Which way up a picture is: the one entry of EXIF that decoding uses, read without touching the others.

EXIF is a small TIFF whose entries point anywhere; a general reader follows every one of them.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

from zipfian.limits import MAX_EXIF_ENTRIES

if TYPE_CHECKING:
    from PIL import Image

_TAG = 0x0112
_PREFIX = b"Exif\x00\x00"
_SHORT, _LONG = 3, 4
_XMP = re.compile(rb'tiff:Orientation(?:="|>)([1-8])')


def orientation(image: Image.Image) -> int:
    """How a picture that is loaded lies, 1 to 8 as EXIF counts; 1, upright, where nothing readable says otherwise."""
    if image.format == "TIFF":
        return 1  # Pillow turns it while it loads
    found = _from_exif(exif_bytes(image.info))
    if found is None:
        packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
        said = _XMP.search(packet.encode("utf-8", "replace") if isinstance(packet, str) else packet)
        found = int(said[1]) if said else None
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def exif_bytes(info: Any) -> bytes:
    """The entry as bytes; old programs put it into a PNG as text in hexadecimal."""
    data = info.get("exif", b"")
    if not data and isinstance(text := info.get("Raw profile type exif"), str):
        try:
            data = bytes.fromhex("".join(text.split("\n")[3:]))
        except ValueError:
            return b""
    return data if isinstance(data, bytes) else b""


def _from_exif(data: bytes) -> int | None:
    for _ in range(2):  # some programs write it twice
        data = data.removeprefix(_PREFIX)
    order = {b"II*\x00": "<", b"MM\x00*": ">"}.get(data[:4])
    if order is None:
        return None
    try:
        (at,) = struct.unpack_from(order + "I", data, 4)
        (entries,) = struct.unpack_from(order + "H", data, at)
        for place in range(at + 2, at + 2 + 12 * min(entries, MAX_EXIF_ENTRIES), 12):
            tag, kind, count = struct.unpack_from(order + "HHI", data, place)
            if tag == _TAG:
                size = {_SHORT: "H", _LONG: "I"}.get(kind)
                return None if size is None or count != 1 else int(struct.unpack_from(order + size, data, place + 8)[0])
    except struct.error:
        return None
    return None
