"""Metadata of documents: which values are allowed, the type of each column, and the stored form.

A column gets its type from the first value seen and keeps it for the whole collection (the collection stores the
mapping
`columns`), because a filter must mean the same thing in every segment. Types are string, integer, number, boolean,
date,
and lists of one of those. Two widenings are allowed, since they change no earlier answer: integer to number, and the
empty list to a list of anything. Every other change is an error at `add`, before anything is lost.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.limits import MAX_COLUMNS, MAX_METADATA_BYTES, MAX_NAME_CHARS

ScalarType = Literal["string", "integer", "number", "boolean", "date"]
ColumnType = Literal[
    "string", "integer", "number", "boolean", "date",
    "list", "list[string]", "list[integer]", "list[number]", "list[boolean]", "list[date]",
]  # fmt: skip
"""`list` alone is the type of a column of which only empty lists were seen."""

SCALARS: dict[str, ScalarType] = {t: t for t in ("string", "integer", "number", "boolean", "date")}
LISTS: dict[str, ColumnType] = {
    "string": "list[string]",
    "integer": "list[integer]",
    "number": "list[number]",
    "boolean": "list[boolean]",
    "date": "list[date]",
}
COLUMN_TYPES: frozenset[str] = frozenset({"list", *SCALARS, *LISTS.values()})

RESERVED = frozenset({"and", "or", "not"})
"""Words of the filter language, which are no column names."""

_WIDER: dict[tuple[ColumnType, ColumnType], ColumnType] = {
    ("integer", "number"): "number",
    ("list[integer]", "list[number]"): "list[number]",
    **{("list", t): t for t in LISTS.values()},
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def element_type(column_type: ColumnType) -> ScalarType | None:
    """The type of the values of a column: of the elements, for a list; None for `list`."""
    return SCALARS.get(column_type.removeprefix("list[").removesuffix("]"))


def infer_column_type(value: Any) -> ColumnType:
    """The type that a value gives to a new column; `InvalidInput` for values that metadata cannot hold.

    >>> infer_column_type(3), infer_column_type(["a", "b"]), infer_column_type("2024-01-31")
    ('integer', 'list[string]', 'string')
    """
    if type(value) is str:  # most are: asked first
        _check_text(value)
        return "string"
    if isinstance(value, list | tuple):
        kinds = {_scalar_type(v) for v in value}
        if not kinds:
            return "list"
        if kinds == {"integer", "number"}:
            return "list[number]"
        if len(kinds) > 1:
            raise InvalidInput(f"a metadata list must hold values of one type, not {' and '.join(sorted(kinds))}")
        return LISTS[kinds.pop()]
    return _scalar_type(value)


def merge_column_types(name: str, known: ColumnType, new: ColumnType) -> ColumnType:
    """The type of a column that was `known` and now gets a value of type `new`; `InvalidInput` if they clash."""
    if known == new:
        return known
    wider = _WIDER.get((known, new)) or _WIDER.get((new, known))
    if wider is None:
        raise InvalidInput(
            f"metadata column {name!r} holds values of type {known} in this collection, and now got one of type {new}; "
            "convert the value or use another column name"
        )
    return wider


def check_metadata(
    metadata: Mapping[str, Any], columns: Mapping[str, ColumnType]
) -> tuple[dict[str, Any], Mapping[str, ColumnType]]:
    """Metadata in plain Python values, and the column types once this document is in.

    numpy scalars become Python's, tuples lists; None is kept and means that the document does not have the column.
    Returns `columns` itself when nothing changes. `InvalidInput` names the column and what is wrong with it.
    """
    clean: dict[str, Any] = {}
    changed: dict[str, ColumnType] = {}
    for name, value in metadata.items():
        check_column_name(name)
        try:
            plain = _plain(value)
            new = None if plain is None else infer_column_type(plain)
        except (InvalidInput, LimitExceeded) as e:
            raise type(e)(f"metadata column {name!r}: {e}") from None
        clean[name] = plain
        if new is None:
            continue
        known = columns.get(name)
        merged = new if known is None else merge_column_types(name, known, new)
        if merged != known:
            changed[name] = merged
    if not changed:
        return clean, columns
    if len(columns | changed.keys()) > MAX_COLUMNS:
        raise LimitExceeded(f"a collection has at most {MAX_COLUMNS} metadata columns; {name!r} is one too many")
    return clean, {**columns, **changed}


def check_column_name(name: Any) -> None:
    """`InvalidInput` unless `name` can be the name of a metadata column."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a metadata column needs a name, got {shown(name)}")
    _check_name(str(name))


@functools.lru_cache(maxsize=1_024)
def _check_name(name: str) -> None:
    """Remembered where it is good: every document brings the same few."""
    if len(name) > MAX_NAME_CHARS:
        raise LimitExceeded(f"a metadata column name has {len(name)} characters; the limit is {MAX_NAME_CHARS}")
    if name in RESERVED or name.startswith("$"):
        raise InvalidInput(f"metadata column {name!r}: this name is reserved; choose another")
    _check_text(name)


def encode_metadata(metadata: Mapping[str, Any]) -> bytes:
    """The stored form: JSON in UTF-8; dates as {"$date": ISO text} or {"$datetime": ISO text}."""
    if not metadata:
        return b"{}"
    raw = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_date_to_json)
    data = raw.encode()
    if len(data) > MAX_METADATA_BYTES:
        raise LimitExceeded(f"a document's metadata has {len(data)} bytes as JSON; the limit is {MAX_METADATA_BYTES}")
    return data


def decode_metadata(data: bytes) -> dict[str, Any]:
    """The inverse of `encode_metadata`; `ValueError`, `TypeError` or `RecursionError` for anything else.

    Only what metadata may hold comes back: whoever walks through it meets no nesting and no number out of range.
    """
    found = json.loads(data, object_hook=_date_from_json, parse_constant=_no_number)
    if not isinstance(found, dict):
        raise ValueError("metadata is not a JSON object")
    for name, value in found.items():
        _check_text(name)
        if value is not None:
            infer_column_type(value)
    return found


def microseconds(value: date) -> int:
    """A date or time as microseconds since 1970 UTC; without a time zone it is read as UTC, a date as its midnight."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    elif value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - _EPOCH) // timedelta(microseconds=1)


def _scalar_type(value: Any) -> ScalarType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidInput(f"the integer {shown(value)} does not fit 64 bits")
        return "integer"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{value!r} is not a finite number")
        return "number"
    if isinstance(value, str):
        _check_text(value)
        return "string"
    if isinstance(value, date):  # a datetime is a date, too
        return "date"
    raise InvalidInput(
        f"a value of type {type(value).__name__} cannot be metadata; use text, numbers, booleans, "
        "dates, or lists of one of those"
    )


def _plain(value: Any) -> Any:
    """Lists of values only: a list within a list stays what it is, and is refused by its type."""
    if type(value) is str:
        return value
    if isinstance(value, list | tuple):
        if len(value) > MAX_METADATA_BYTES // 2:  # a digit and a comma each
            raise LimitExceeded(f"a list of {len(value):,} values; metadata have at most {MAX_METADATA_BYTES:,} bytes")
        return [v.item() if isinstance(v, np.generic) else v for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _check_text(text: str) -> None:
    if len(text) > MAX_METADATA_BYTES:
        raise LimitExceeded(f"a text of {len(text):,} characters; metadata have at most {MAX_METADATA_BYTES:,} bytes")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"not valid Unicode text: {text[:80]!r}") from None


def _date_to_json(value: Any) -> dict[str, str]:
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be metadata")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number that metadata can hold")


def _date_from_json(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        if "$date" in value:
            return date.fromisoformat(value["$date"])
        if "$datetime" in value:
            return datetime.fromisoformat(value["$datetime"])
    return value
