"""One file of an encoded shard: entries one after the other, then a table of where they are, then a footer.

An entry is what the encode cache keeps too (`_entry`), with its own checksum. The table has one row per entry, with the
content hash of the item and the number of the form; it and the footer have a checksum of their own, so a file can be
used without reading all of it first, and nothing damaged is ever taken for an encoding.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode._entry import Array, Damaged, unpack
from zipfian.errors import ShardDamaged
from zipfian.storage.replace import replacing

Table = npt.NDArray[np.void]

ROW = np.dtype([("content", "u1", (32,)), ("form", "<u4"), ("length", "<u4"), ("offset", "<u8")])
_MAGIC = b"ZPFSHRD\x01"
_FOOTER = struct.Struct("<QQI8s")
"""Start of the table, its rows, the checksum of the table and of the two numbers, and the magic again."""


def write_part(path: Path, entries: Mapping[tuple[int, str], bytes]) -> Table:
    """Write packed entries, by form and content hash, whole or not at all; the table of the new file."""
    table = np.zeros(len(entries), ROW)
    offset = len(_MAGIC)
    for row, ((form, content), data) in zip(table, entries.items(), strict=True):
        row["content"] = np.frombuffer(bytes.fromhex(content), np.uint8)
        row["form"], row["length"], row["offset"] = form, len(data), offset
        offset += len(data)
    with replacing(path) as file:
        file.write(_MAGIC)
        for data in entries.values():
            file.write(data)
        file.write(table.tobytes())
        file.write(_FOOTER.pack(offset, len(table), _checksum(table.tobytes(), offset), _MAGIC))
    return table


def read_table(path: Path, nbytes: int, n_forms: int) -> Table:
    """The table of a part that should have `nbytes`; `ShardDamaged` when anything is not as it was written."""
    try:
        size = path.stat().st_size
        if size != nbytes:
            raise ShardDamaged(path, f"it has {size:,} bytes where {nbytes:,} were written")
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
            file.seek(max(0, size - _FOOTER.size))
            footer = file.read(_FOOTER.size)
            if len(footer) < _FOOTER.size:
                raise ShardDamaged(path, "it is cut short")
            start, rows, checksum, end = _FOOTER.unpack(footer)
            if magic != _MAGIC or end != _MAGIC or start + rows * ROW.itemsize + _FOOTER.size != size:
                raise ShardDamaged(path, "it is not a file of an encoded shard, or damaged")
            file.seek(start)
            data = file.read(rows * ROW.itemsize)
    except FileNotFoundError:
        raise ShardDamaged(path, "the file is missing") from None
    if _checksum(data, start) != checksum:
        raise ShardDamaged(path, "its table has the wrong checksum")
    table: Table = np.frombuffer(data, ROW)
    ends = table["offset"] + table["length"]
    if rows and (int(ends.max()) > start or int(table["form"].max()) >= n_forms):
        raise ShardDamaged(path, "its table points outside the file")
    return table


def read_entry(path: Path, offset: int, length: int) -> dict[str, Array]:
    """The arrays of one entry; `ShardDamaged` when they are not as they were written."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return unpack(file.read(length))
    except FileNotFoundError:
        raise ShardDamaged(path, "the file is missing") from None
    except (Damaged, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ShardDamaged(path, f"the entry at byte {offset:,} is damaged ({error})") from None


def _checksum(table: bytes, start: int) -> int:
    return zlib.crc32(struct.pack("<Q", start), zlib.crc32(table))


class Places:
    """Where the entries of a shard are, in memory: 60 bytes for each, found by bisection."""

    _ROW = np.dtype([*ROW.descr, ("part", "<u4")])
    _MOST_RUNS = 16
    """So many sorted tables are looked through one by one before they are joined."""

    def __init__(self) -> None:
        self._runs: list[tuple[npt.NDArray[np.uint64], Table]] = []

    def add(self, part: int, table: Table) -> None:
        """Make the entries of a part known."""
        rows = np.zeros(len(table), self._ROW)
        for name in ROW.names or ():
            rows[name] = table[name]
        rows["part"] = part
        self._runs.append(_sorted([rows]))
        if len(self._runs) > self._MOST_RUNS:
            self._runs = [_sorted([run for _, run in self._runs])]

    def join(self) -> None:
        """After the last `add`: one table, one search."""
        if len(self._runs) > 1:
            self._runs = [_sorted([run for _, run in self._runs])]

    def find(self, form: int, content: str) -> tuple[int, int, int] | None:
        """Part, offset and length of an entry."""
        wanted = np.frombuffer(bytes.fromhex(content), np.uint8)
        start = int.from_bytes(wanted[:8].tobytes(), "big")
        for keys, rows in self._runs:
            at = int(np.searchsorted(keys, np.uint64(start)))
            while at < len(keys) and int(keys[at]) == start:
                row = rows[at]
                if int(row["form"]) == form and np.array_equal(row["content"], wanted):
                    return int(row["part"]), int(row["offset"]), int(row["length"])
                at += 1
        return None

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)


def _sorted(runs: Sequence[Any]) -> tuple[npt.NDArray[np.uint64], Table]:
    rows = np.concatenate(runs)
    keys = np.ascontiguousarray(rows["content"][:, :8]).view(">u8").reshape(-1).astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]
