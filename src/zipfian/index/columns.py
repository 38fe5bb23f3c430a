"""The column file of a segment: metadata columns as arrays (see `column`), for filters.

    <i>.values            the values, or all elements of a list column; booleans as bits, integers in the smallest type
    <i>.present           bits: which documents have the column; left out when all do
    <i>.starts            list columns: where each document's elements start
    <i>.terms, <i>.term_offsets    string columns: the dictionary
    <i>.odd, <i>.odd_at   number columns: integers that float64 cannot hold, and where they belong

<i> is the place of the column in the list `columns` of the file's meta data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from zipfian.errors import IndexCorrupt
from zipfian.index._arrays import smallest_int, smallest_uint
from zipfian.index.column import Column
from zipfian.index.metadata import COLUMN_TYPES, ColumnType, element_type
from zipfian.index.terms import WordTerms
from zipfian.limits import MAX_COLUMNS, MAX_DOCUMENTS
from zipfian.storage.container import FileRef, SectionFile, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.storage.sections import (
    BYTES,
    INT,
    UINT,
    Declared,
    flags,
    meta_int,
    pack_flags,
    read_offsets,
    require,
    unpack_flags,
)

KIND = "col"


def write_columns(directory: Directory, name: str, n_docs: int, columns: Iterable[tuple[str, Column]]) -> FileRef:
    """Write a column file; columns are taken one at a time."""
    listed: list[dict[str, Any]] = []
    with SectionWriter(directory, name, KIND, {"n_docs": n_docs}) as file:
        for i, (name_, column) in enumerate(columns):
            some = not bool(column.present.all())
            listed.append({"name": name_, "type": column.type, "count": len(column.values), "some": some})
            if some:
                file.add(f"{i}.present", pack_flags(column.present))
            if column.starts is not None:
                file.add(f"{i}.starts", smallest_uint(column.starts))
            if column.words is not None:
                column.words.write(file, f"{i}.")
                file.add(f"{i}.values", smallest_uint(column.values))
            elif column.values.dtype == np.bool_:
                file.add(f"{i}.values", pack_flags(column.values))
            elif column.values.dtype.kind == "i":
                file.add(f"{i}.values", smallest_int(column.values))
            else:
                file.add(f"{i}.values", column.values)
            if column.odd_at is not None and column.odd is not None and len(column.odd):
                file.add(f"{i}.odd_at", smallest_uint(column.odd_at))
                file.add(f"{i}.odd", column.odd)
        file.meta["columns"] = listed
        return file.close()


class ColumnReader:
    """A column file open for reading; a column is read when first asked for."""

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        self._listed: dict[str, tuple[int, ColumnType, int, bool]] = {}
        self._columns: dict[str, Column] = {}
        self._lock = threading.Lock()
        try:
            for i, entry in enumerate(file.meta["columns"]):
                name, column_type, count = entry["name"], entry["type"], entry["count"]
                if not isinstance(name, str) or column_type not in COLUMN_TYPES or type(count) is not int or count < 0:
                    raise ValueError(f"column {i} has no name, no type or no count")
                if i >= MAX_COLUMNS or name in self._listed:
                    raise ValueError(f"more than {MAX_COLUMNS} columns, or one of them twice")
                self._listed[name] = (i, column_type, count, bool(entry["some"]))
        except (KeyError, TypeError, ValueError) as e:
            raise IndexCorrupt(file.name, f"its list of columns cannot be read ({e!r})"[:300]) from e
        for i, column_type, count, some in self._listed.values():
            require(file, self._sections(f"{i}.", column_type, count, some))

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> ColumnReader:
        """Open a column file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @property
    def types(self) -> dict[str, ColumnType]:
        """The columns that documents of this segment have, and their types here."""
        return {name: column_type for name, (_, column_type, _, _) in self._listed.items()}

    def column(self, name: str) -> Column | None:
        """The column of a column, None if no document of this segment has it."""
        if name not in self._listed:
            return None
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._read(*self._listed[name])
            return self._columns[name]

    def _sections(self, key: str, column_type: ColumnType, count: int, some: bool) -> dict[str, Declared]:
        """The sections that a column must have."""
        kind, file = element_type(column_type), self.file
        sections: dict[str, Declared] = {key + "present": flags(self.n_docs)} if some else {}
        if column_type.startswith("list"):
            sections[key + "starts"] = UINT, self.n_docs + 1
        elif count != self.n_docs:
            raise IndexCorrupt(file.name, f"a column has {count} values for {self.n_docs} documents")
        if kind == "string":
            words = max(file.length(key + "term_offsets"), 1)  # the end of the last word is always there
            sections |= {key + "terms": (BYTES, None), key + "term_offsets": (UINT, words)}
        if kind == "number" and key + "odd" in file.names:
            odd = file.length(key + "odd")
            sections |= {key + "odd": (("int64",), odd), key + "odd_at": (UINT, odd)}
        values = {"string": (UINT, count), "number": (("float64",), count), "boolean": flags(count)}
        return {**sections, key + "values": values.get(kind or "", (INT, count))}

    def _read(self, i: int, column_type: ColumnType, count: int, some: bool) -> Column:
        file, key = self.file, f"{i}."
        present = unpack_flags(file, key + "present", self.n_docs) if some else np.ones(self.n_docs, np.bool_)
        starts = None
        if column_type.startswith("list"):
            starts = read_offsets(file, key + "starts", count).astype(np.int64)
        kind = element_type(column_type)
        if kind == "string":
            values, words = file.array(key + "values"), WordTerms.read(file, key)
            used = count > 0 if starts is not None else bool(present.any())
            if (used and not len(words)) or (count and int(values.max()) >= max(len(words), 1)):
                raise IndexCorrupt(file.name, "a column refers to a value that its dictionary does not have")
            return Column(column_type, present, values, starts, words)
        if kind == "boolean":
            return Column(column_type, present, unpack_flags(file, key + "values", count), starts)
        if kind == "number":
            values, odd_at, odd = file.array(key + "values"), None, None
            if key + "odd" in file.names:
                places, odd = file.array(key + "odd_at"), file.array(key + "odd")
                if len(odd) and int(places.max()) >= count:
                    raise IndexCorrupt(file.name, "a column refers to a document that is not there")
                odd_at = places.astype(np.int64)
            return Column(column_type, present, values, starts, None, odd_at, odd)
        return Column(column_type, present, file.array(key + "values"), starts)
