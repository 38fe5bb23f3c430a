"""The column file of a segment: metadata fields as arrays (see `column`), for filters.

    <i>.values            the values, or all elements of a list field; booleans as bits, integers in the smallest type
    <i>.present           bits: which documents have the field; left out when all do
    <i>.starts            list fields: where each document's elements start
    <i>.terms, <i>.term_offsets    string fields: the dictionary
    <i>.odd, <i>.odd_at   number fields: integers that float64 cannot hold, and where they belong

<i> is the place of the field in the list `fields` of the file's meta data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from zipfian.errors import IndexCorrupt
from zipfian.index._arrays import pack_flags, smallest_int, smallest_uint
from zipfian.index._sections import BYTES, INT, UINT, Declared, flags, meta_int, read_offsets, require, unpack_flags
from zipfian.index.column import Column
from zipfian.index.container import FileRef, SectionFile, SectionWriter
from zipfian.index.directory import Directory
from zipfian.index.metadata import FIELD_TYPES, FieldType, element_type
from zipfian.index.terms import WordTerms
from zipfian.limits import MAX_DOCUMENTS, MAX_METADATA_FIELDS

KIND = "col"


def write_columns(directory: Directory, name: str, n_docs: int, columns: Iterable[tuple[str, Column]]) -> FileRef:
    """Write a column file; columns are taken one at a time."""
    fields: list[dict[str, Any]] = []
    with SectionWriter(directory, name, KIND, {"n_docs": n_docs}) as file:
        for i, (field, column) in enumerate(columns):
            some = not bool(column.present.all())
            fields.append({"name": field, "type": column.type, "count": len(column.values), "some": some})
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
        file.meta["fields"] = fields
        return file.close()


class ColumnReader:
    """A column file open for reading; a column is read when first asked for."""

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        self._fields: dict[str, tuple[int, FieldType, int, bool]] = {}
        self._columns: dict[str, Column] = {}
        self._lock = threading.Lock()
        try:
            for i, field in enumerate(file.meta["fields"]):
                name, field_type, count = field["name"], field["type"], field["count"]
                if not isinstance(name, str) or field_type not in FIELD_TYPES or type(count) is not int or count < 0:
                    raise ValueError(f"field {i} has no name, no type or no count")
                if i >= MAX_METADATA_FIELDS or name in self._fields:
                    raise ValueError(f"more than {MAX_METADATA_FIELDS} fields, or one of them twice")
                self._fields[name] = (i, field_type, count, bool(field["some"]))
        except (KeyError, TypeError, ValueError) as e:
            raise IndexCorrupt(file.name, f"its list of fields cannot be read ({e!r})"[:300]) from e
        for i, field_type, count, some in self._fields.values():
            require(file, self._sections(f"{i}.", field_type, count, some))

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> ColumnReader:
        """Open a column file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @property
    def fields(self) -> dict[str, FieldType]:
        """The fields that documents of this segment have, and their types here."""
        return {name: field_type for name, (_, field_type, _, _) in self._fields.items()}

    def column(self, name: str) -> Column | None:
        """The column of a field, None if no document of this segment has it."""
        if name not in self._fields:
            return None
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._read(*self._fields[name])
            return self._columns[name]

    def _sections(self, key: str, field_type: FieldType, count: int, some: bool) -> dict[str, Declared]:
        """The sections that a field must have."""
        kind, file = element_type(field_type), self.file
        sections: dict[str, Declared] = {key + "present": flags(self.n_docs)} if some else {}
        if field_type.startswith("list"):
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

    def _read(self, i: int, field_type: FieldType, count: int, some: bool) -> Column:
        file, key = self.file, f"{i}."
        present = unpack_flags(file, key + "present", self.n_docs) if some else np.ones(self.n_docs, np.bool_)
        starts = None
        if field_type.startswith("list"):
            starts = read_offsets(file, key + "starts", count).astype(np.int64)
        kind = element_type(field_type)
        if kind == "string":
            values, words = file.array(key + "values"), WordTerms.read(file, key)
            used = count > 0 if starts is not None else bool(present.any())
            if (used and not len(words)) or (count and int(values.max()) >= max(len(words), 1)):
                raise IndexCorrupt(file.name, "a column refers to a value that its dictionary does not have")
            return Column(field_type, present, values, starts, words)
        if kind == "boolean":
            return Column(field_type, present, unpack_flags(file, key + "values", count), starts)
        if kind == "number":
            values, odd_at, odd = file.array(key + "values"), None, None
            if key + "odd" in file.names:
                places, odd = file.array(key + "odd_at"), file.array(key + "odd")
                if len(odd) and int(places.max()) >= count:
                    raise IndexCorrupt(file.name, "a column refers to a document that is not there")
                odd_at = places.astype(np.int64)
            return Column(field_type, present, values, starts, None, odd_at, odd)
        return Column(field_type, present, file.array(key + "values"), starts)
