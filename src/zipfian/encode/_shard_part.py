"""One file of an encoded shard: a container with packed entries one after the other, and a table of where they are.

The table has the content hash of each item and the number of its form. As everywhere, only blocks that are used are
read, and each against its checksum: nothing damaged is ever taken for an encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt
from zipfian.storage.container import FileRef, SectionFile, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.storage.packed import Array, Damaged, unpack
from zipfian.storage.sections import BYTES, UINT, UINT32, read_offsets, require

Table = npt.NDArray[np.void]

KIND = "shard"
ROW = np.dtype([("content", "u1", (32,)), ("form", "<u4"), ("length", "<u4"), ("offset", "<u8")])
_HASH = 32
"""Bytes of a content hash."""


def write_part(directory: Directory, name: str, entries: Mapping[tuple[int, str], bytes]) -> tuple[FileRef, Table]:
    """Write packed entries, by form and content hash, whole or not at all; the file, and the table of it."""
    table = np.zeros(len(entries), ROW)
    with SectionWriter(directory, name, KIND, {}) as writer:
        data = writer.stream("data", np.uint8)
        offset = 0
        for row, ((form, content), packed) in zip(table, entries.items(), strict=True):
            row["content"] = np.frombuffer(bytes.fromhex(content), np.uint8)
            row["form"], row["length"], row["offset"] = form, len(packed), offset
            data.append(np.frombuffer(packed, np.uint8))
            offset += len(packed)
        data.end()
        writer.add("content", table["content"].reshape(-1))
        writer.add("form", table["form"])
        writer.add("offsets", np.append(table["offset"], np.uint64(offset)))
        return writer.close(), table


def open_part(directory: Directory, ref: FileRef, entries: int) -> SectionFile:
    """A part, known to be the one that is named and to have a table of so many entries."""
    file = SectionFile.open(directory, ref, KIND)
    require(
        file,
        {
            "data": (BYTES, None),
            "content": (BYTES, _HASH * entries),
            "form": (UINT32, entries),
            "offsets": (UINT, entries + 1),
        },
    )
    return file


def read_table(file: SectionFile, n_forms: int) -> Table:
    """The table of an open part, checked: every entry lies in the file and is of a form that there is."""
    offsets = read_offsets(file, "offsets", file.length("data"))
    forms = file.array("form")
    if len(forms) and int(forms.max()) >= n_forms:
        raise IndexCorrupt(file.name, f"an entry is of form {int(forms.max())}, and the shard has {n_forms}")
    lengths = np.diff(offsets.astype(np.uint64))
    if len(lengths) and int(lengths.max()) > np.iinfo(np.uint32).max:
        raise IndexCorrupt(file.name, f"an entry has {int(lengths.max()):,} bytes, more than any may")
    table = np.zeros(len(forms), ROW)
    table["content"] = file.array("content").reshape(-1, _HASH)
    table["form"], table["length"], table["offset"] = forms, lengths, offsets[:-1]
    return table


def read_entry(file: SectionFile, offset: int, length: int) -> dict[str, Array]:
    """The arrays of one entry."""
    (packed,) = file.slices("data", [(offset, offset + length)])
    try:
        return unpack(packed)
    except Damaged as error:
        raise IndexCorrupt(file.name, f"the entry at byte {offset:,} of its data is no entry ({error})") from None


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
