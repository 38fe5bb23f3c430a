"""The boxes of a HEIC or AVIF file, walked before a decoder sees them.

Such a file holds items: pictures, tiles, EXIF. A picture may be put together from others, any number of times from the
same one, and each is decoded again; so a few kilobytes can ask for hours. Here the items are listed with the sizes they
say they have, and a file that asks for much more work than its pixels are worth is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from zipfian.encode._av1 import frame_sizes
from zipfian.encode._bounds import at_most
from zipfian.errors import ImageUnreadable
from zipfian.limits import MAX_IMAGE_ITEMS, MAX_IMAGE_METADATA, MAX_IMAGE_PARTS, MAX_IMAGE_PIXELS

_TEXTS = (b"Exif", b"mime")
_SPARE = 2**22
"""Pixels of tiles that may lie beyond the edge of a picture."""

Extent = tuple[int, int]


@dataclass(slots=True)
class Items:
    """What a file holds, by the number of each item."""

    kinds: dict[int, bytes] = field(default_factory=dict)
    extents: dict[int, list[Extent]] = field(default_factory=dict)
    """Where the bytes of an item lie in the file."""
    sizes: dict[int, int] = field(default_factory=dict)
    """Pixels an item says it has."""
    parts: dict[int, list[int]] = field(default_factory=dict)
    """Items that an item is put together from."""
    moves: bool = False
    """Whether it has tracks, as films have."""

    def content(self, data: bytes, item: int) -> bytes:
        """The bytes of an item."""
        return b"".join(data[at : at + size] for at, size in self.extents.get(item, ()))


def check_boxes(data: bytes, kind: str, name: str) -> int:
    """Refuse a file with too many parts or too much work; the pixels of the largest frame in the stream of an AVIF."""
    try:
        items = _items(data, name)
        at_most(len(items.kinds), MAX_IMAGE_ITEMS, "items", name)
        _check_work(items, name)
        texts = sum(
            size for item, one in items.kinds.items() if one in _TEXTS for _, size in items.extents.get(item, ())
        )
        # Every picture of a file may be described by the same text, of which a reader makes a copy for each.
        at_most(texts * max(1, len(items.kinds)), MAX_IMAGE_METADATA, "bytes of metadata", name)
        return _largest_frame(data, items, name) if kind == "AVIF" else 0
    except (struct.error, IndexError) as error:
        raise ImageUnreadable(name, f"damaged or cut short ({error})") from error


def exif_of(data: bytes, name: str) -> bytes:
    """The EXIF of a file whose boxes have been checked, as a TIFF; nothing where there is none."""
    items = _items(data, name)
    for item, kind in items.kinds.items():
        if kind == b"Exif":
            content = items.content(data, item)
            return content[4 + int.from_bytes(content[:4], "big") :]
    return b""


def _check_work(items: Items, name: str) -> None:
    """Tiles cover a picture once; layers on layers, or tiles far beyond its edges, are more work than that."""
    for item, parts in items.parts.items():
        work = sum(items.sizes.get(part, 0) for part in parts)
        at_most(work, min(2 * items.sizes.get(item, 0), MAX_IMAGE_PIXELS) + _SPARE, "pixels in its tiles", name)


def _largest_frame(data: bytes, items: Items, name: str) -> int:
    if items.moves:
        raise ImageUnreadable(name, "an AVIF that moves; save one picture of it")
    found = [
        width * height
        for item, kind in items.kinds.items()
        if kind == b"av01"
        for width, height in frame_sizes(items.content(data, item))
    ]
    if not found:
        raise ImageUnreadable(name, "an AVIF without a picture in it")
    return max(found)


def _items(data: bytes, name: str) -> Items:
    found = Items()
    top = _by_kind(data, 0, len(data), name)
    found.moves = b"moov" in top
    at, end = _one(top, b"meta")
    inner = _by_kind(data, at + 4, end, name)
    _read_kinds(data, _one(inner, b"iinf"), found, name)
    _read_extents(data, _one(inner, b"iloc"), inner.get(b"idat", []), found, name)
    if b"iref" in inner:
        _read_parts(data, _one(inner, b"iref"), found, name)
    _read_sizes(data, _one(inner, b"iprp"), found, name)
    return found


def _by_kind(data: bytes, at: int, end: int, name: str) -> dict[bytes, list[Extent]]:
    """Beginning and end of the content of each box, by its kind."""
    out: dict[bytes, list[Extent]] = {}
    for kind, begin, stop in _boxes(data, at, end, name):
        out.setdefault(kind, []).append((begin, stop))
    return out


def _one(boxes: dict[bytes, list[Extent]], kind: bytes) -> Extent:
    """The box of a kind; of two, nobody can say which one a decoder would take."""
    found = boxes.get(kind, [])
    if len(found) != 1:
        raise IndexError(f"{len(found)} boxes {kind.decode('latin-1')!r} where there is one")
    return found[0]


def _boxes(data: bytes, at: int, end: int, name: str) -> Iterator[tuple[bytes, int, int]]:
    """Kind, beginning and end of the content of each box."""
    count = 0
    while at + 8 <= end:
        count += 1
        at_most(count, MAX_IMAGE_PARTS, "boxes", name)
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            size, head = struct.unpack_from(">Q", data, at + 8)[0], 16
        elif size == 0:
            size = end - at
        if size < head or at + size > end:
            raise IndexError(f"a box of {size:,} bytes where {end - at:,} are left")
        yield kind, at + head, at + size
        at += size


def _read_kinds(data: bytes, box: Extent, found: Items, name: str) -> None:
    """`iinf`: what each item is. Item numbers have four bytes from version 3 of an entry on."""
    at, end = box
    at += 6 if data[at] == 0 else 8
    for kind, begin, _ in _boxes(data, at, end, name):
        if kind != b"infe":
            continue
        version = data[begin]
        if version < 2:
            raise IndexError("items as they were before there were pictures")
        number = struct.unpack_from(">I" if version >= 3 else ">H", data, begin + 4)[0]
        at_kind = begin + (10 if version >= 3 else 8)
        found.kinds[number] = data[at_kind : at_kind + 4]


def _read_extents(data: bytes, box: Extent, own: list[Extent], found: Items, name: str) -> None:
    """`iloc`: where the bytes of each item are, in the file or in the box `idat` beside it."""
    version = data[box[0]]
    widths = struct.unpack_from(">H", data, box[0] + 4)[0]
    offset_size, length_size, base_size, index_size = (widths >> shift & 15 for shift in (12, 8, 4, 0))
    fields = _Numbers(data, box[0] + 6)
    extents = total = 0
    for _ in range(fields.take(2 if version < 2 else 4)):
        number = fields.take(2 if version < 2 else 4)
        inside = version >= 1 and fields.take(2) & 15 == 1
        fields.take(2)
        base = fields.take(base_size) + (own[0][0] if inside and own else 0)
        for _ in range(fields.take(2)):
            if version >= 1:
                fields.take(index_size)
            at, size = base + fields.take(offset_size), fields.take(length_size)
            size = size or max(0, len(data) - at)  # none means up to the end
            extents, total = extents + 1, total + size
            at_most(extents, MAX_IMAGE_PARTS, "extents", name)
            at_most(total, 2 * len(data), "bytes of items, each counted as often as it is used,", name)
            found.extents.setdefault(number, []).append((at, size))


def _read_parts(data: bytes, box: Extent, found: Items, name: str) -> None:
    """`iref`: which items are put together from which; references of other kinds cost no decoding."""
    size = 2 if data[box[0]] == 0 else 4
    total = 0
    for kind, begin, _ in _boxes(data, box[0] + 4, box[1], name):
        fields = _Numbers(data, begin)
        number, count = fields.take(size), fields.take(2)
        total += count
        at_most(total, MAX_IMAGE_PARTS, "references", name)
        if kind == b"dimg":
            found.parts.setdefault(number, []).extend(fields.take(size) for _ in range(count))


def _read_sizes(data: bytes, box: Extent, found: Items, name: str) -> None:
    """`iprp`: a list of properties, and which of them each item has."""
    inner = _by_kind(data, *box, name)
    pixels = []
    for kind, begin, _ in _boxes(data, *_one(inner, b"ipco"), name):
        width, height = struct.unpack_from(">II", data, begin + 4) if kind == b"ispe" else (0, 0)
        pixels.append(width * height)
    for begin, _ in inner.get(b"ipma", []):
        version, wide = data[begin], data[begin + 3] & 1
        fields = _Numbers(data, begin + 4)
        for _ in range(fields.take(4)):
            number = fields.take(2 if version < 1 else 4)
            for _ in range(fields.take(1)):
                place = fields.take(2) & 0x7FFF if wide else fields.take(1) & 0x7F
                if 1 <= place <= len(pixels):
                    found.sizes[number] = max(found.sizes.get(number, 0), pixels[place - 1])


class _Numbers:
    """Unsigned numbers one after another, the highest byte first; `IndexError` behind the end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def take(self, size: int) -> int:
        self._at += size
        if self._at > len(self._data):
            raise IndexError("a box is cut short")
        return int.from_bytes(self._data[self._at - size : self._at], "big")
