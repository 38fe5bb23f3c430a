"""Picture files made to hurt, with every length and checksum right: as bytes, from a source of randomness."""

from __future__ import annotations

import importlib.util
import io
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

if importlib.util.find_spec("pillow_heif"):
    from pillow_heif import register_heif_opener

    register_heif_opener()  # so that Pillow writes them
    _HEIF: tuple[str, ...] = ("HEIF",)
else:
    _HEIF = ()

Forge = Callable[[random.Random], bytes]

KINDS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", *_HEIF)
MODES = {
    "JPEG": ("RGB", "L", "CMYK"),
    "PNG": ("RGB", "RGBA", "L", "LA", "P", "1", "I;16"),
    "WEBP": ("RGB", "RGBA"),
    "GIF": ("P", "L", "1"),
    "BMP": ("RGB", "L", "P", "1"),
    "TIFF": ("RGB", "RGBA", "L", "LA", "P", "1", "I;16", "CMYK"),
    "AVIF": ("RGB", "RGBA", "L"),
    "HEIF": ("RGB", "RGBA", "L"),
}
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MIB = 1 << 20


def scene(chance: random.Random, mode: str = "RGB") -> Image.Image:
    """Something to see, of any size and mode."""
    size = chance.randint(1, 90), chance.randint(1, 90)
    if mode == "I;16":
        return Image.fromarray(np.random.default_rng(chance.getrandbits(32)).integers(0, 65535, size, np.uint16))
    image = Image.effect_noise(size, 60).convert("RGB")
    image.paste((chance.randrange(256), 30, 200), (0, 0, max(1, size[0] // 2), max(1, size[1] // 2)))
    return image.quantize(16) if mode == "P" else image.convert(mode)


def honest(chance: random.Random, kind: str | None = None) -> bytes:
    """A sound picture of any format, mode and option."""
    kind = kind or chance.choice(KINDS)
    image = scene(chance, chance.choice(MODES[kind]))
    options: dict[str, Any] = {}
    if kind == "JPEG":
        options = {"progressive": chance.random() < 0.5, "quality": chance.randint(30, 95)}
    elif kind == "WEBP":
        options = {"lossless": chance.random() < 0.5}
    elif kind == "TIFF":
        options = {"compression": chance.choice(("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"))}
    if kind in ("JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF") and chance.random() < 0.5:
        options["exif"] = Image.Exif()
        options["exif"][0x0112] = chance.randint(1, 8)
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def flipped(chance: random.Random) -> bytes:
    """A few bits of a sound picture changed, anywhere or in its head."""
    data = bytearray(honest(chance))
    among = len(data) if chance.random() < 0.5 else min(len(data), 120)
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(among)] ^= 1 << chance.randrange(8)
    return bytes(data)


def lying(chance: random.Random) -> bytes:
    """Numbers of the head replaced by the largest there are."""
    data = bytearray(honest(chance))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(2, min(len(data), 100))
        data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
    return bytes(data)


def cut(chance: random.Random) -> bytes:
    """The beginning of a sound picture."""
    data = honest(chance)
    return data[: chance.randrange(1, len(data))]


def nested(chance: random.Random) -> bytes:
    """One format after, before or inside another."""
    first, second = honest(chance), honest(chance)
    return chance.choice((first + second, first[: len(first) // 2] + second, b"RIFF" + first, b"BM" + second))


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG with its checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def zeros(count: int) -> bytes:
    """So many zero bytes compressed, without ever having them in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(_MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    rest = last.compress(bytes(count % _MIB)) + last.flush()
    return b"\x78\xda" + block * (count // _MIB) + rest + struct.pack(">I", ((count % 65521) << 16) | 1)


def png(width: int, height: int, bits: int, colour: int, between: bytes = b"", body: bytes | None = None) -> bytes:
    """A black PNG of any size."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    row = 1 + (width * channels * bits + 7) // 8
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    palette = chunk(b"PLTE", bytes(6)) if colour == 3 else b""
    pixels = chunk(b"IDAT", zeros(row * height) if body is None else body)
    return PNG_SIGNATURE + head + palette + between + pixels + chunk(b"IEND", b"")


def long_side(chance: random.Random) -> bytes:
    """Tens of millions of pixels in one row."""
    long = chance.randint(60_000_000, 89_000_000)
    colour, bits = chance.choice(((2, 8), (0, 1), (0, 8), (3, 1)))
    return png(long, 1, bits, colour)


def deep_pixels(chance: random.Random) -> bytes:
    """Within any limit of pixels, but each of 8 bytes."""
    side = chance.randint(8_800, 9_450)
    return png(side, side, 16, chance.choice((4, 6)))


def wrong_size(chance: random.Random) -> bytes:
    """Pixels for another size than the head says."""
    return png(chance.randint(1, 9_000), chance.randint(1, 9_000), 8, 2, body=zeros(chance.randint(0, 10_000)))


def many_chunks(chance: random.Random) -> bytes:
    """Chunks with nothing in them, by the million."""
    kind = chance.choice((b"aaAa", b"tIME", b"zzZz"))
    return png(1, 1, 8, 2, chunk(kind, b"") * chance.randint(2_500_000, 3_000_000))


def packed_text(chance: random.Random) -> bytes:
    """A remark or a colour profile that unpacks to gigabytes."""
    size = chance.randint(1 << 29, 1 << 31)
    kind, head = chance.choice(((b"zTXt", b"a\0\0"), (b"iCCP", b"a\0\0"), (b"iTXt", b"a\0\1\0\0\0")))
    return png(4, 4, 8, 2, chunk(kind, head + zeros(size)))


def exif_bomb(size: int, tags: int) -> bytes:
    """EXIF whose entries all point at the same bytes."""
    entries = b"".join(struct.pack("<HHII", 0x9000 + i, 7, size, 8) for i in range(tags))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", tags) + entries + bytes(4) + bytes(size)


def exif_everywhere(chance: random.Random) -> bytes:
    """Thousands of entries, each as large as the file."""
    return png(4, 4, 8, 2, chunk(b"eXIf", exif_bomb(chance.randint(1, 8) * _MIB, chance.randint(100, 5_000))))


def segment(code: int, body: bytes) -> bytes:
    """A segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, code, len(body) + 2) + body


def padding(chance: random.Random) -> bytes:
    """A JPEG of nothing but padding between its first two bytes and a picture."""
    return b"\xff\xd8" + b"\xff" * chance.randint(30_000_000, 40_000_000) + honest(chance, "JPEG")[2:]


def empty_segments(chance: random.Random) -> bytes:
    """Remarks without a word, by the million."""
    one = segment(chance.choice((0xE5, 0xFE, 0xEC)), b"")
    return b"\xff\xd8" + one * chance.randint(6_000_000, 8_000_000) + honest(chance, "JPEG")[2:]


def exif_in_pieces(chance: random.Random) -> bytes:
    """Every piece makes the reader copy all those before it."""
    one = segment(0xE1, b"Exif\0\0" + bytes(65_533 - 6))
    return b"\xff\xd8" + one * chance.randint(1_000, 1_200) + honest(chance, "JPEG")[2:]


def many_passes(chance: random.Random) -> bytes:
    """The last pass over a large picture, again and again: kilobytes that take minutes."""
    out = io.BytesIO()
    side = chance.randint(3_000, 4_000)
    Image.new("RGB", (side, side), "gray").save(out, "JPEG", progressive=True, quality=50)
    data = out.getvalue()
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * chance.randint(3_000, 5_000) + b"\xff\xd9"


def gigapixel(chance: random.Random) -> bytes:
    """A JPEG that says it is as large as one can be."""
    data = honest(chance, "JPEG")
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    side = chance.randint(20_000, 65_500)
    return data[: at + 5] + struct.pack(">HH", side, side) + data[at + 9 :]


def gif_frames(chance: random.Random) -> bytes:
    """Frames of one pixel by the hundred thousand."""
    frame = b",\0\0\0\0\1\0\1\0\0\2\2D\1\0"
    return b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + frame * chance.randint(400_000, 600_000) + b";"


def gif_remarks(chance: random.Random) -> bytes:
    """A remark in pieces of one byte each."""
    remark = b"!\xfe" + b"\1a" * chance.randint(20_000_000, 25_000_000) + b"\0"
    return b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + remark + b",\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def tiff(tags: dict[int, tuple[int, int, int]], tail: bytes = b"", after: int = 0) -> bytes:
    """A TIFF of one page: tag to type, count and value or offset; `tail` follows the tags."""
    rows = b"".join(struct.pack("<HHII", tag, *tags[tag]) for tag in sorted(tags))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + rows + struct.pack("<I", after) + tail


def page(width: int, height: int, **more: tuple[int, int, int]) -> dict[int, tuple[int, int, int]]:
    """The tags that every page has."""
    base = {256: (4, 1, width), 257: (4, 1, height), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 277: (3, 1, 1)}
    return base | {int(tag.removeprefix("t")): value for tag, value in more.items()}


def tiff_pages(chance: random.Random) -> bytes:
    """Tens of thousands of pages of one pixel, in the order of the file."""
    count = chance.randint(50_000, 70_000)
    tags = page(1, 1, t273=(4, 1, 8), t278=(4, 1, 1), t279=(4, 1, 1))
    rows = b"".join(struct.pack("<HHII", tag, *tags[tag]) for tag in sorted(tags))
    size = 2 + len(rows) + 4
    pages = [
        struct.pack("<H", len(tags)) + rows + struct.pack("<I", 8 + size * (i + 1) if i + 1 < count else 0)
        for i in range(count)
    ]
    return b"II*\0\x08\0\0\0" + b"".join(pages)


def tiff_tags(chance: random.Random) -> bytes:
    """Tens of thousands of tags that all point at the same megabytes."""
    size = chance.randint(4, 10) * _MIB
    tags = page(1, 1, t273=(4, 1, 8), t278=(4, 1, 1), t279=(4, 1, 1))
    tags |= {40_000 + i: (7, size, 8) for i in range(chance.randint(5_000, 20_000))}
    return tiff(tags, bytes(size))


def tiff_strips(chance: random.Random) -> bytes:
    """Millions of strips for a picture of a few rows."""
    count = chance.randint(10_000_000, 14_000_000)
    at = 8 + 2 + 12 * 9 + 4
    return tiff(page(4, 4, t273=(4, count, at), t278=(4, 1, 1), t279=(4, count, at)), bytes(4 * count))


def tiff_deep(chance: random.Random) -> bytes:
    """Pixels of 8 bytes, all in one strip that unpacks to most of a gigabyte."""
    side = chance.randint(8_800, 9_400)
    body = zeros(side * side * 8)
    at = 8 + 2 + 12 * 10 + 4
    more = {"t273": (4, 1, at + 8), "t278": (4, 1, side), "t279": (4, 1, len(body)), "t338": (3, 1, 2)}
    tags = page(side, side, **more) | {258: (3, 4, at), 259: (3, 1, 8), 262: (3, 1, 2), 277: (3, 1, 4)}
    return tiff(tags, struct.pack("<4H", 16, 16, 16, 16) + body)


def webp_canvas(chance: random.Random) -> bytes:
    """A small frame on the largest canvas that is taken."""
    inner = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(inner, "WEBP", lossless=True)
    bits = inner.getvalue()[12:]
    width, height = chance.randint(9_000, 9_400), chance.randint(9_000, 9_400)
    sizes = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    frame = bytes(6) + b"\3\0\0\3\0\0" + b"\1\0\0" + b"\0" + bits
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + b"\x12\0\0\0" + sizes
    body += b"ANIM" + struct.pack("<I", 6) + bytes(6) + b"ANMF" + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", len(body)) + body


def box(kind: bytes, *parts: bytes) -> bytes:
    """A box of a HEIC or AVIF file."""
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + kind + body


def avif(width: int, height: int) -> bytes:
    """A grey AVIF of any size."""
    out = io.BytesIO()
    Image.new("L", (width, height), 128).save(out, "AVIF", speed=10, max_threads=1)
    return out.getvalue()


def avif_lie(chance: random.Random) -> bytes:
    """A few pixels, say the boxes; millions, says the stream."""
    width, height = chance.randint(6_000, 7_000), chance.randint(6_000, 7_000)
    small = struct.pack(">II", chance.randint(1, 200), chance.randint(1, 200))
    return avif(width, height).replace(struct.pack(">II", width, height), small)


def items(
    brand: bytes,
    kinds: list[bytes],
    contents: list[bytes],
    sizes: list[tuple[int, int]],
    parts: list[int],
    extra: bytes = b"",
) -> bytes:
    """A file of items, the first of which is the picture and is put together from those in `parts`."""
    entries = [box(b"infe", b"\2\0\0\0", struct.pack(">HH", i + 1, 0), kind, b"\0") for i, kind in enumerate(kinds)]
    info = box(b"iinf", bytes(4), struct.pack(">H", len(kinds)), *entries)
    references = box(b"dimg", struct.pack(f">HH{len(parts)}H", 1, len(parts), *parts)) if parts else b""
    refers = box(b"iref", bytes(4), references) if parts else b""
    shapes = box(b"ipco", *(box(b"ispe", bytes(4), struct.pack(">II", *size)) for size in sizes))
    owned = b"".join(struct.pack(">HBH", i + 1, 1, i + 1) for i in range(len(sizes)))
    properties = box(b"iprp", shapes, box(b"ipma", b"\0\0\0\1", struct.pack(">I", len(sizes)), owned))
    head = box(b"ftyp", brand, bytes(4), brand, b"mif1")
    handler = box(b"hdlr", bytes(8), b"pict", bytes(13))
    primary = box(b"pitm", bytes(4), struct.pack(">H", 1))
    rest = handler + primary + info + refers + properties + extra
    at = len(head) + 8 + 4 + len(rest) + 8 + 8 + 14 * len(contents) + 8
    rows = b""
    for i, content in enumerate(contents):
        rows += struct.pack(">HHHII", i + 1, 0, 1, at, len(content))
        at += len(content)
    where = box(b"iloc", bytes(4), b"\x44\0", struct.pack(">H", len(contents)), rows)
    return head + box(b"meta", bytes(4), rest, where) + box(b"mdat", *contents)


def tiles_again(chance: random.Random) -> bytes:
    """One tile, thousands of times, for a picture that a few would cover."""
    rows, columns = chance.randint(100, 256), chance.randint(100, 256)
    grid = struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, 300, 300)
    parts = [2] * (rows * columns)
    return items(b"heic", [b"grid", b"hvc1"], [grid, b"tile"], [(300, 300), (2_000, 2_000)], parts)


def many_items(chance: random.Random) -> bytes:
    """Pictures by the thousand in one file."""
    count = chance.randint(5_000, 9_000)
    return items(chance.choice((b"heic", b"avif")), [b"hvc1"] * count, [b"x"] * count, [(4, 4)], [])


def many_boxes(chance: random.Random) -> bytes:
    """Boxes with nothing in them, by the million."""
    return items(b"heic", [b"hvc1"], [b"x"], [(4, 4)], [], box(b"free") * chance.randint(2_000_000, 2_500_000))


def exif_of_all(chance: random.Random) -> bytes:
    """Megabytes of EXIF, of which a reader makes a copy for each of hundreds of pictures."""
    count = chance.randint(400, 900)
    return items(b"heic", [b"hvc1"] * count + [b"Exif"], [b"x"] * count + [bytes(_MIB)], [(4, 4)], [])


def avif_exif(chance: random.Random) -> bytes:
    """EXIF whose entries are each as large as the file, in an AVIF."""
    exif = bytes(4) + exif_bomb(chance.randint(1, 4) * _MIB, chance.randint(100, 5_000))
    return items(b"avif", [b"av01", b"Exif"], [b"\x0a\x06\x18\x15\x7f\xff\xf0\x00", exif], [(4, 4)], [])


def bmp(width: int, height: int, compression: int, body: bytes) -> bytes:
    """A BMP of 256 colours."""
    bits = 4 if compression == 2 else 8
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(body), 0, 0, 256, 0)
    return b"BM" + struct.pack("<IHHI", 54 + 1024 + len(body), 0, 0, 54 + 1024) + head + bytes(1024) + body


def run_lengths(chance: random.Random) -> bytes:
    """Rows that end after one pixel: each missing one is filled in by itself."""
    side = chance.randint(8_500, 9_400)
    return bmp(side, side, chance.choice((1, 2)), b"\1\0\0\0" * side)


def slow_runs(chance: random.Random) -> bytes:
    """Run lengths of nothing, by the million."""
    return bmp(1_400, 1_400, 1, b"\0\2\0\0" * chance.randint(15_000_000, 18_000_000))
