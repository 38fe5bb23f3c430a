"""Bytes of the one file format: header, table of contents, checksum table, footer. Little-endian throughout.

    header   24 bytes   magic, format version, reserved, kind, file id
    sections            each at a multiple of 64, zeros in between
    contents            UTF-8 JSON: {"meta": {...}, "sections": {name: {"offset", "nbytes", "dtype", "shape"}}}
    checksums           u32 CRC-32 of each 64 KiB of everything before this table
    footer   44 bytes   where the contents are, the table's CRC, the file id again, its own CRC, magic

Parsing trusts nothing: every number is compared with the file's size before it is used, and nothing is allocated that
is larger than the file.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.errors import FormatTooNew, FormatTooOld, IndexCorrupt
from zipfian.limits import MAX_TOC_BYTES, MAX_TOC_COMMAS

MAGIC = b"ZPFN"
VERSION = 2
"""2: fields and columns under these names, as of 0.2. 1 is of zipfian 0.1."""
ALIGN = 64
BLOCK = 64 * 1024
HEADER = struct.Struct("<4sHH8sQ")
FOOTER = struct.Struct("<QQIIIQI4s")
FOOTER_BODY = FOOTER.size - 8
"""The footer's bytes that its own CRC covers."""
DTYPES = {np.dtype(t).name: np.dtype(t) for t in ("u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f4", "<f8")}
"""What a section may hold; booleans are stored as uint8, so that no byte is an impossible value."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file as the manifest names it: enough to tell it from every other file ever written.

    `checksum` joins the CRC of the checksum table (hence of every byte) and the CRC of the footer.
    """

    name: str
    size: int
    checksum: int
    file_id: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; 64-bit numbers as hexadecimal text, which every JSON reader keeps exact."""
        return {
            "name": self.name,
            "size": self.size,
            "checksum": f"{self.checksum:016x}",
            "file_id": f"{self.file_id:016x}",
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FileRef:
        """The inverse of `to_json`; `ValueError`, `TypeError` or `KeyError` for anything else."""
        name, size = value["name"], value["size"]
        if not isinstance(name, str) or type(size) is not int or size < 0 or set(value) != set(cls.__slots__):
            raise ValueError(f"not a file reference: {value!r}")
        return cls(name, size, _hex64(value["checksum"]), _hex64(value["file_id"]))


@dataclass(frozen=True, slots=True)
class Section:
    """Where one array lies in a file, already checked against the file's size."""

    offset: int
    nbytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Footer:
    """The last bytes of a file, parsed."""

    toc_offset: int
    toc_nbytes: int
    blocks: int
    table_crc: int
    file_id: int
    crc: int

    @property
    def end(self) -> int:
        """End of the bytes covered by block checksums, and start of the checksum table."""
        return self.toc_offset + self.toc_nbytes

    def ref(self, name: str) -> FileRef:
        """The reference of the file that ends with this footer."""
        return FileRef(name, self.end + 4 * self.blocks + FOOTER.size, self.table_crc << 32 | self.crc, self.file_id)

    def pack(self) -> bytes:
        """The footer's bytes."""
        body = struct.pack(
            "<QQIIIQ", self.toc_offset, self.toc_nbytes, BLOCK, self.blocks, self.table_crc, self.file_id
        )
        return body + struct.pack("<I4s", self.crc, MAGIC)

    @classmethod
    def make(cls, toc_offset: int, toc_nbytes: int, blocks: int, table_crc: int, file_id: int) -> Footer:
        """A footer with its own CRC filled in."""
        draft = cls(toc_offset, toc_nbytes, blocks, table_crc, file_id, 0)
        return cls(toc_offset, toc_nbytes, blocks, table_crc, file_id, zlib.crc32(draft.pack()[:FOOTER_BODY]))


def pack_header(kind: str, file_id: int) -> bytes:
    """The first bytes of a file of this kind (1 to 8 ASCII characters)."""
    raw = kind.encode("ascii")
    if not 1 <= len(raw) <= 8:
        raise ValueError(f"a file kind has 1 to 8 ASCII characters: {kind!r}")
    return HEADER.pack(MAGIC, VERSION, 0, raw, file_id)


def parse_footer(name: str, size: int, tail: bytes) -> Footer:
    """The footer from a file's last bytes. After this, the four parts are known to fill the file exactly."""
    toc_offset, toc_nbytes, block, blocks, table_crc, file_id, crc, magic = FOOTER.unpack(tail)
    if magic != MAGIC:
        raise IndexCorrupt(name, "does not end as a data file does: cut short, or something else")
    if zlib.crc32(tail[:FOOTER_BODY]) != crc:
        raise IndexCorrupt(name, "its footer fails the checksum")
    footer = Footer(toc_offset, toc_nbytes, blocks, table_crc, file_id, crc)
    if (
        block != BLOCK
        or toc_offset < HEADER.size
        or toc_offset % ALIGN
        or toc_nbytes > MAX_TOC_BYTES
        or blocks != -(-footer.end // BLOCK)
        or footer.ref(name).size != size
    ):
        raise IndexCorrupt(name, f"its footer does not describe a file of {size} bytes")
    return footer


def parse_header(name: str, head: bytes, kind: str, file_id: int) -> None:
    """Check a header whose checksum is already known to be good."""
    magic, version, reserved, raw_kind, found_id = HEADER.unpack(head)
    if magic != MAGIC:
        raise IndexCorrupt(name, "is not a zipfian data file")
    if version != VERSION:
        raise other_format(name, version)
    if reserved != 0 or found_id != file_id:
        raise IndexCorrupt(name, "its header and footer do not belong together")
    if raw_kind.rstrip(b"\0") != kind.encode("ascii"):
        raise IndexCorrupt(name, f"is a file of kind {raw_kind.rstrip(bytes(1))!r} where {kind!r} was expected")


def other_format(name: str, version: int) -> FormatTooNew | FormatTooOld:
    """The error for a format this release cannot read."""
    if version < VERSION:
        return FormatTooOld(
            f"{name} has format {version}, of an older zipfian; this release reads format {VERSION} only: "
            "index the documents into a new collection"
        )
    return FormatTooNew(
        f"{name} has format {version}; this release reads up to format {VERSION}: upgrade with pip install -U zipfian"
    )


def pack_toc(meta: Mapping[str, Any], sections: Mapping[str, Section]) -> bytes:
    """The table of contents as JSON."""
    listed = {
        name: {"offset": s.offset, "nbytes": s.nbytes, "dtype": s.dtype.name, "shape": list(s.shape)}
        for name, s in sections.items()
    }
    raw = json.dumps({"meta": meta, "sections": listed}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = raw.encode()
    if len(data) > MAX_TOC_BYTES:
        raise ValueError(f"a table of contents of {len(data)} bytes is over the limit of {MAX_TOC_BYTES}")
    return data


def parse_toc(name: str, data: bytes, toc_offset: int) -> tuple[dict[str, Any], dict[str, Section]]:
    """Meta and sections; every section lies inside the file, aligned, and overlaps no other."""
    if data.count(b",") > MAX_TOC_COMMAS:
        raise IndexCorrupt(name, "its table of contents lists more than any file holds")
    try:
        toc = json.loads(data)
        meta, listed = toc["meta"], toc["sections"]
        if not isinstance(meta, dict):
            raise TypeError("meta is not an object")
        sections = {str(key): _section(value) for key, value in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise IndexCorrupt(name, f"its table of contents cannot be read ({e!r})"[:300]) from e
    end = HEADER.size
    for key, s in sorted(sections.items(), key=lambda item: (item[1].offset, item[1].nbytes)):
        if s.offset < end or s.offset + s.nbytes > toc_offset:
            raise IndexCorrupt(name, f"its section {key!r} does not lie where sections lie")
        end = s.offset + s.nbytes
    return meta, sections


def _section(value: Mapping[str, Any]) -> Section:
    offset, nbytes, shape = value["offset"], value["nbytes"], value["shape"]
    dtype = DTYPES[value["dtype"]]
    if not isinstance(shape, list) or len(shape) not in (1, 2):
        raise ValueError("a section has one or two dimensions")
    if any(type(n) is not int or not 0 <= n < 2**63 for n in (offset, nbytes, *shape)):
        raise ValueError("a section's numbers must be integers that are not negative")
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize != nbytes or offset % ALIGN:
        raise ValueError("a section's shape, type and size do not agree")
    return Section(offset, nbytes, dtype, tuple(shape))


def _hex64(text: str) -> int:
    if len(text) != 16:
        raise ValueError(f"not 16 hexadecimal digits: {text!r}")
    return int(text, 16)
