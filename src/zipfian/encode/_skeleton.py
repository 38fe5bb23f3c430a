"""The parts of a picture file, walked before a decoder sees them.

A decoder reads chunk after chunk and pass after pass, however many a file has; some small files keep one busy for
hours. Here the parts are only stepped over, and a file with more of them than any real picture is refused. What a part
holds is left to the decoder: it decides whether the file is sound.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

from zipfian.encode._bounds import at_most
from zipfian.encode._boxes import check_boxes, exif_of
from zipfian.limits import (
    MAX_IMAGE_METADATA,
    MAX_IMAGE_PADDING,
    MAX_IMAGE_PARTS,
    MAX_JPEG_SCANS,
    MAX_RLE_PIXELS,
)

_SIGNATURES = (
    ("JPEG", re.compile(rb"\xff\xd8\xff")),
    ("PNG", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("GIF", re.compile(rb"GIF8[79]a")),
    ("WEBP", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("TIFF", re.compile(rb"II[*+]\x00|MM\x00[*+]")),
    ("BMP", re.compile(rb"BM")),
    ("AVIF", re.compile(rb"....ftypavi[fs]", re.DOTALL)),
    ("AVIF", re.compile(rb"....ftypm[is]f1.{4}(?:....){0,15}?avif", re.DOTALL)),
    ("HEIF", re.compile(rb"....ftyp(?:hei[cmsx]|hev[cmx]|m[is]f1)", re.DOTALL)),
)
"""The last three are one container, named by what is in it: by its brand, or by a brand it is compatible with."""

_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
"""The next marker of a JPEG: neither a stuffed byte, nor padding, nor a restart."""
_SOS, _EOI, _TEM, _SOI = 0xDA, 0xD9, 0x01, 0xD8
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a frame: its size and components."""

_STRIPS = frozenset({273, 279, 324, 325})
"""Tags of a TIFF with a number for each strip or tile."""
_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_RLE = (1, 2)


def kind_of(data: bytes) -> str | None:
    """The format that a file begins like."""
    return next((kind for kind, signature in _SIGNATURES if signature.match(data)), None)


class Parts(NamedTuple):
    """What a decoder will have to hold."""

    passes: int = 1
    """Over the pixels of a JPEG. Components that come in passes of their own make two at least."""
    coded: int = 0
    """Pixels of the largest frame in the stream of an AVIF, whatever its boxes say."""


def check_parts(data: bytes, kind: str, name: str) -> Parts:
    """Refuse a file with too many parts; what the walk found out about the others."""
    if kind == "JPEG":
        return Parts(passes=_jpeg(data, name))
    if kind in ("HEIF", "AVIF"):
        coded = check_boxes(data, kind, name)
        _walk(_tiff, exif_of(data, name), name)
        return Parts(coded=coded)
    walk = {"PNG": _png, "GIF": _gif, "WEBP": _webp, "TIFF": _tiff, "BMP": _bmp}[kind]
    _walk(walk, data, name)
    return Parts()


def _walk(walk: Callable[[bytes, str], None], data: bytes, name: str) -> None:
    try:
        walk(data, name)
    except (struct.error, IndexError):
        pass  # cut short: the decoder says so


def _jpeg(data: bytes, name: str) -> int:
    at, parts, padding, scans, components = 2, 0, 0, 0, 0
    while found := _MARKER.search(data, at, len(data) if scans else at + MAX_IMAGE_PADDING + 2):
        code = data[found.start() + 1]
        if not scans:
            padding += found.start() - at
            at_most(padding, MAX_IMAGE_PADDING, "bytes of padding", name)
        parts += 1
        at_most(parts, MAX_IMAGE_PARTS, "segments", name)
        at = found.end()
        if code == _SOS:
            if not scans:
                at_most(at, MAX_IMAGE_METADATA, "bytes before its pixels", name)
            scans += 1
            at_most(scans, MAX_JPEG_SCANS, "passes over its pixels", name)
            if scans == 1 and data[at + 2 : at + 3] != bytes([components]):
                scans = 2  # some components come later: the decoder keeps what it has, as between passes
        elif code in _FRAMES:
            components = int.from_bytes(data[at + 7 : at + 8], "big")
        elif code == _EOI and scans:
            break
        if code not in (_EOI, _TEM, _SOI):
            at += int.from_bytes(data[at : at + 2], "big")
    if not scans:
        at_most(padding + len(data) - at, MAX_IMAGE_PADDING, "bytes of padding", name)
    return max(scans, 1)


def _png(data: bytes, name: str) -> None:
    at, parts = 8, 0
    while at < len(data):
        parts += 1
        at_most(parts, MAX_IMAGE_PARTS, "chunks", name)
        at += 12 + struct.unpack_from(">I", data, at)[0]


def _gif(data: bytes, name: str) -> None:
    """Extensions and comments before the first frame; the frame itself is read by the decoder block by block."""
    flags = data[10]
    at = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
    parts = 0
    while data[at] == 0x21:
        at += 2
        while size := data[at]:
            parts += 1
            at_most(parts, MAX_IMAGE_PARTS, "blocks", name)
            at += 1 + size
        at += 1
        parts += 1
        at_most(parts, MAX_IMAGE_PARTS, "blocks", name)
    at_most(at, MAX_IMAGE_METADATA, "bytes before its pixels", name)


def _webp(data: bytes, name: str) -> None:
    at, parts = 12, 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        parts += 1
        at_most(parts, MAX_IMAGE_PARTS, "chunks", name)
        if kind in (b"ICCP", b"EXIF", b"XMP "):
            at_most(size, MAX_IMAGE_METADATA, "bytes of metadata", name)
        at += 8 + size + size % 2


def _tiff(data: bytes, name: str) -> None:
    """The tags of the first page; only that page is used."""
    order = "<" if data[:2] == b"II" else ">"
    big = 43 in data[2:4]
    head, entry, inline = ("Q", "HHQ", 8) if big else ("H", "HHI", 4)
    at = struct.unpack_from(order + ("Q" if big else "I"), data, 8 if big else 4)[0]
    (tags,) = struct.unpack_from(order + head, data, at)
    at_most(tags, MAX_IMAGE_PARTS, "tags", name)
    at += struct.calcsize(order + head)
    held = 0
    for _ in range(tags):
        tag, kind, count = struct.unpack_from(order + entry, data, at)
        at += struct.calcsize(order + entry) + inline
        size = count * _TYPE_BYTES.get(kind, 0)
        held += size if size > inline else 0
        if tag in _STRIPS:
            at_most(count, MAX_IMAGE_PARTS, "strips or tiles", name)
        at_most(held, MAX_IMAGE_METADATA, "bytes of tags", name)


def _bmp(data: bytes, name: str) -> None:
    if struct.unpack_from("<I", data, 14)[0] < 40:
        return  # a head from before there were run lengths
    width, height, _, _, compression = struct.unpack_from("<iiHHI", data, 18)
    if compression in _RLE:
        pixels = abs(width * height)
        at_most(pixels, MAX_RLE_PIXELS, "pixels in run lengths", name)
        at_most(len(data), 3 * pixels + MAX_IMAGE_PADDING, "bytes of run lengths", name)
