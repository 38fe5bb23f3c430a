"""One metadata column as an array, for filters, instead of one JSON object per document.

    string     a dictionary of the distinct values and the number of each document's value in it
    integer    int64
    number     float64; integers that float64 cannot hold exactly are kept beside it
    boolean    bool
    date       int64 microseconds since 1970 UTC
    list[T]    the elements of all documents as a column of T, and where each document's elements start

`present` says which documents have the column. Values of the others are zero and mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.index._arrays import Bools, Ints, offsets
from zipfian.index.metadata import (
    ColumnType,
    ScalarType,
    element_type,
    infer_column_type,
    merge_column_types,
    microseconds,
)
from zipfian.index.terms import WordTerms, merge_words

_TYPES = {"string": np.int64, "integer": np.int64, "number": np.float64, "boolean": np.bool_, "date": np.int64}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one column for all documents of a segment.

    `values` holds integers (integer, date), float64 (number), bool (boolean), or numbers into `words` (string); for a
    list column, all elements, those of document d at `starts[d]` to `starts[d + 1]`. For a number, `odd` are the exact
    values, at the places `odd_at`, that `values` could only round.
    """

    type: ColumnType
    present: Bools
    values: npt.NDArray[Any]
    starts: Ints | None = None
    words: WordTerms | None = None
    odd_at: Ints | None = None
    odd: Ints | None = None

    @property
    def n_docs(self) -> int:
        """Documents, with or without the column."""
        return len(self.present)

    @classmethod
    def build(cls, column_type: ColumnType, rows: Sequence[Any]) -> Column:
        """The column of one value (or None) per document; all must be of the column's type."""
        present = np.fromiter((v is not None for v in rows), np.bool_, len(rows))
        if not column_type.startswith("list"):
            if any(isinstance(v, list | tuple) for v in rows):
                raise InvalidInput(f"a list where a single {column_type} was expected")
            return cls(column_type, present, **_build_values(element_type(column_type), rows))
        if any(v is not None and not isinstance(v, list | tuple) for v in rows):
            raise InvalidInput(f"a single value where a {column_type} was expected")
        starts = offsets(np.fromiter((len(v or ()) for v in rows), np.int64, len(rows)))
        flat = [x for v in rows for x in v or ()]
        return cls(column_type, present, starts=starts, **_build_values(element_type(column_type), flat))

    def select(self, keep: Bools) -> Column:
        """The column of the documents whose flag is set."""
        if self.starts is None:
            return replace(self._take(keep), present=self.present[keep])
        sizes = np.diff(self.starts)
        return replace(self._take(np.repeat(keep, sizes)), present=self.present[keep], starts=offsets(sizes[keep]))

    def _take(self, keep: Bools) -> Column:
        if self.odd_at is None or self.odd is None:
            return replace(self, values=self.values[keep])
        kept = keep[self.odd_at]
        places = np.cumsum(keep) - 1
        return replace(self, values=self.values[keep], odd_at=places[self.odd_at[kept]], odd=self.odd[kept])


def build_columns(
    metadata: Sequence[Mapping[str, Any]], columns: Mapping[str, ColumnType]
) -> Iterator[tuple[str, Column]]:
    """A column for each column that at least one of the documents has, one at a time."""
    seen = {name for row in metadata for name, value in row.items() if value is not None}
    if unknown := sorted(seen - columns.keys()):
        raise InvalidInput(f"metadata column {unknown[0]!r} has no type; known columns: {', '.join(columns) or 'none'}")
    for name in sorted(seen):
        try:
            yield name, Column.build(columns[name], [row.get(name) for row in metadata])
        except InvalidInput as e:
            raise InvalidInput(f"metadata column {name!r}: {e}") from None


def join_columns(parts: Sequence[tuple[Column | None, int]]) -> Column:
    """The column of several runs of documents, given as (column or None, number of documents), in order."""
    columns = [c for c, _ in parts if c is not None]
    joined_type = columns[0].type
    for column in columns[1:]:
        joined_type = merge_column_types("", joined_type, column.type)
    present = [np.zeros(n, np.bool_) if c is None else c.present for c, n in parts]
    filled = [_absent(joined_type, n) if c is None else _widen(c, joined_type) for c, n in parts]
    values, extra = _join_values(filled)
    has = np.concatenate(present)
    if not joined_type.startswith("list"):
        values[~has] = 0  # renumbering words also moved the zeros of missing values
        return Column(joined_type, has, values, **extra)
    starts = offsets(np.concatenate([np.diff(c.starts) for c in filled if c.starts is not None]))
    return Column(joined_type, has, values, starts, **extra)


def _build_values(kind: ScalarType | None, rows: Sequence[Any]) -> dict[str, Any]:
    """The arrays of a column of scalars, as arguments of `Column`; None stands for a missing value."""
    for value in rows:
        if value is not None and (found := infer_column_type(value)) != kind and (found, kind) != ("integer", "number"):
            raise InvalidInput(f"a value of type {found} where {kind or 'nothing'} was expected")
    if kind == "string":
        words = sorted({v for v in rows if v is not None})
        numbers = {w: i for i, w in enumerate(words)}
        codes = np.fromiter((numbers.get(v, 0) for v in rows), np.int64, len(rows))
        return {"values": codes, "words": WordTerms.from_raw([w.encode() for w in words])}
    if kind == "number":
        return _numbers(rows)
    if kind == "date":
        rows = [None if v is None else microseconds(v) for v in rows]
    return {"values": np.fromiter((v or 0 for v in rows), _TYPES[kind or "integer"], len(rows))}


def _numbers(rows: Sequence[Any]) -> dict[str, Any]:
    values = np.fromiter((float(v or 0) for v in rows), np.float64, len(rows))
    odd_at = [i for i, v in enumerate(rows) if isinstance(v, int) and int(float(v)) != v]
    if not odd_at:
        return {"values": values}
    odd = np.array([rows[i] for i in odd_at], np.int64)
    return {"values": values, "odd_at": np.array(odd_at, np.int64), "odd": odd}


def _absent(column_type: ColumnType, n: int) -> Column:
    """The column of n documents that do not have the column."""
    is_list = column_type.startswith("list")
    kind = element_type(column_type) or "integer"
    return Column(
        column_type,
        np.zeros(n, np.bool_),
        np.zeros(0 if is_list else n, _TYPES[kind]),
        np.zeros(n + 1, np.int64) if is_list else None,
        WordTerms.from_raw([]) if kind == "string" else None,
    )


def _widen(column: Column, column_type: ColumnType) -> Column:
    """The same values in a column of a wider type."""
    if column.type == column_type:
        return column
    if column.type == "list":
        return replace(_absent(column_type, column.n_docs), present=column.present)
    return replace(column, type=column_type, **_numbers(column.values.tolist()))


def _join_values(columns: Sequence[Column]) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    """The values of columns of one type, one after the other, and what goes with them."""
    if columns[0].words is not None:
        compact = [_compact(c) for c in columns]
        words, places = merge_words([w for _, w in compact])
        values = [to[v] if len(to) else v for (v, _), to in zip(compact, places, strict=True)]
        return np.concatenate(values), {"words": words}
    values = [c.values for c in columns]
    if all(c.odd is None for c in columns):
        return np.concatenate(values), {}
    shifts = offsets(np.array([len(v) for v in values]))
    odd_at = [c.odd_at + shift for c, shift in zip(columns, shifts.tolist(), strict=False) if c.odd_at is not None]
    return np.concatenate(values), {
        "odd_at": np.concatenate(odd_at),
        "odd": np.concatenate([c.odd for c in columns if c.odd is not None]),
    }


def _compact(column: Column) -> tuple[Ints, WordTerms]:
    """Values and words of a string column without the words that no document has any more."""
    words = column.words or WordTerms.from_raw([])
    live = column.values if column.starts is not None else column.values[column.present]
    used = np.zeros(len(words), np.bool_)
    used[live] = True
    if used.all():
        return column.values.astype(np.int64), words
    numbers = np.maximum(np.cumsum(used) - 1, 0)
    return numbers[column.values], words.select(np.flatnonzero(used))
