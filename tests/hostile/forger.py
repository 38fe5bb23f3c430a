"""Tools of a forger: data files rewritten with right checksums everywhere, and a manifest that names them."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import generations_in, manifest_name, read_manifest
from zipfian.storage import layout
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.storage.directory import FSDirectory

Array = npt.NDArray[Any]


@dataclass
class Contents:
    """What a data file holds, to be changed at will."""

    meta: dict[str, Any]
    sections: dict[str, Array]
    claims: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Shapes that the table of contents claims in place of the true ones."""


class Forger:
    """A collection's newest commit, open for forgery. `publish` makes the manifest agree with what was done."""

    def __init__(self, folder: Path) -> None:
        self._directory = FSDirectory(folder)
        self._manifest = read_manifest(self._directory, generations_in(self._directory.list())[-1])
        self.entries = list(self._manifest.segments)

    def files(self) -> list[tuple[int, str]]:
        """(segment, role) of every data file, in a fixed order."""
        return [(i, role) for i, entry in enumerate(self.entries) for role in sorted(entry.files)]

    def read(self, at: int, role: str) -> Contents:
        """The contents of a file."""
        file = SectionFile.open(self._directory, self.entries[at].files[role], role.partition(":")[0])
        return Contents(dict(file.meta), {name: file.array(name).copy() for name in file.names})

    def rewrite(self, at: int, role: str, change: Callable[[Contents], object]) -> None:
        """Change a file's contents and write it anew, under a new name."""
        contents = self.read(at, role)
        change(contents)
        kind = role.partition(":")[0]
        writer = SectionWriter(self._directory, f"s99999999-{secrets.token_hex(4)}-forged.{kind}", kind, contents.meta)
        for name, array in contents.sections.items():
            writer.add(name, array)
            if name in contents.claims:
                writer._sections[name] = replace(writer._sections[name], shape=contents.claims[name])
        self.entries[at] = self.entries[at].with_file(role, writer.close())

    def claim_documents(self, at: int, n_docs: int) -> None:
        """Let the manifest say that a segment has so many documents."""
        entry = self.entries[at]
        self.entries[at] = SegmentEntry(entry.id, n_docs, entry.files)

    def publish(self) -> None:
        """Write the manifest of the newest commit again, for the files as they are now."""
        manifest = replace(self._manifest, segments=tuple(self.entries))
        (self._directory.path / manifest.name).write_bytes(manifest.encode())

    def lose_previous_manifest(self) -> None:
        """Remove the manifest of the commit before the newest."""
        older = generations_in(self._directory.list())[-2]
        (self._directory.path / manifest_name(older)).unlink()


def rewrite_contents_table(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Replace the table of contents of a file by other bytes, with right checksums; the manifest is not changed."""
    data = (folder / name).read_bytes()
    footer = layout.parse_footer(name, len(data), data[-layout.FOOTER.size :])
    body = data[: footer.toc_offset] + (toc := change(data[footer.toc_offset : footer.end]))
    crcs = [zlib.crc32(body[i : i + layout.BLOCK]) for i in range(0, len(body), layout.BLOCK)]
    table = np.array(crcs, "<u4").tobytes()
    new = layout.Footer.make(footer.toc_offset, len(toc), len(crcs), zlib.crc32(table), footer.file_id)
    (folder / name).write_bytes(body + table + new.pack())


def reseal(forger: Forger, folder: Path, at: int, role: str) -> None:
    """Name the file of a role in the manifest as it is on disk now."""
    name = forger.entries[at].files[role].name
    data = (folder / name).read_bytes()
    footer = layout.parse_footer(name, len(data), data[-layout.FOOTER.size :])
    forger.entries[at] = forger.entries[at].with_file(role, footer.ref(name))


def bomb(head: bytes, letter: bytes, count: int, tail: bytes = b"") -> bytes:
    """The zlib stream of head + letter * count + tail, made without ever holding what it unpacks to."""
    piece = letter * (1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)  # can be repeated: it refers to nothing before it
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = rest.compress(letter * (count % len(piece)) + tail) + rest.flush()
    start = zlib.compressobj(9, zlib.DEFLATED, -15)
    begin = start.compress(head) + start.flush(zlib.Z_FULL_FLUSH)
    check = zlib.adler32(tail, _adler_of_run(zlib.adler32(head), letter[0], count))
    return b"\x78\xda" + begin + packed * (count // len(piece)) + end + check.to_bytes(4, "big")


def _adler_of_run(start: int, byte: int, count: int) -> int:
    """Adler-32 continued over a run of one byte, by its closed formula."""
    a, b = start & 0xFFFF, start >> 16
    b = (b + count * a + byte * count * (count + 1) // 2) % 65521
    return b << 16 | (a + byte * count) % 65521


def replace_block(contents: Contents, block: int, packed: bytes, size: int) -> None:
    """Put another compressed block, said to hold `size` bytes, in place of one of a document file."""
    s = contents.sections
    ends = s["block_offsets"].astype(np.int64)
    blob = s["blocks"].tobytes()
    s["blocks"] = np.frombuffer(blob[: ends[block]] + packed + blob[ends[block + 1] :], np.uint8)
    ends[block + 1 :] += len(packed) - (ends[block + 1] - ends[block])
    s["block_offsets"] = ends.astype(np.uint64)
    sizes = s["block_sizes"].astype(np.uint64)
    sizes[block] = size
    s["block_sizes"] = sizes.astype(np.uint32) if size < 2**32 else sizes


def numbers(meta: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of a file's meta data are: paths of keys and places."""
    if isinstance(meta, dict | list):
        for key, value in meta.items() if isinstance(meta, dict) else enumerate(meta):
            yield from numbers(value, (*path, key))
    else:
        yield path


def put(meta: Any, path: tuple[Any, ...], value: Any) -> None:
    """Set the value at a path."""
    for key in path[:-1]:
        meta = meta[key]
    meta[path[-1]] = value
