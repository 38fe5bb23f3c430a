"""Metadata columns in an index: typed, flat, and named so that their types can be read back from the mapping.

The mapping of an index only ever grows, and two writers may extend it at once; so the type of a column is part of its
name in the index, and nothing else has to be kept in step. Integers and fractions have a column each, because a column
cannot change from one to the other, and both are asked in a filter. Dates are microseconds since 1970, exactly as in
the embedded engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from zipfian.errors import IndexCorrupt, LimitExceeded
from zipfian.index.metadata import LISTS, ColumnType, element_type, infer_column_type, merge_column_types, microseconds
from zipfian.limits import MAX_KEYWORD_BYTES

HAS = "zf_has"
"""Names of the columns that a document has: an empty list is there, too, which the index could not tell otherwise."""

_CODES: dict[str, str] = {"string": "s", "integer": "i", "number": "n", "boolean": "b", "date": "d"}
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "keyword"},
    "integer": {"type": "long"},
    "number": {"type": "double"},
    "boolean": {"type": "boolean"},
    "date": {"type": "long"},
}
_ESCAPED = re.compile(r"_([0-9a-f]+)_")
_FIELD = re.compile(r"m_(l?)([sinbd]?)_(.+)\Z", re.DOTALL)


def escape(name: str) -> str:
    """A name of letters, digits and '-'; everything else as its code point, so that no two names meet.

    >>> escape("lang"), escape("a.b_c")
    ('lang', 'a_2e_b_5f_c')
    """
    return "".join(c if c.isascii() and (c.isalnum() or c == "-") else f"_{ord(c):x}_" for c in name)


def unescape(text: str) -> str:
    """The inverse of `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def index_name(name: str, column_type: ColumnType) -> str:
    """The field of the index that holds values of this type."""
    code = _CODES.get(element_type(column_type) or "", "")
    return f"m_{'l' if column_type.startswith('list') else ''}{code}_{escape(name)}"


def properties(columns: Mapping[str, ColumnType]) -> dict[str, dict[str, Any]]:
    """Mapping entries of the columns."""
    out: dict[str, dict[str, Any]] = {}
    for name, column_type in columns.items():
        out[index_name(name, column_type)] = _TYPES[element_type(column_type) or "string"]
    return out


def from_mapping(names: Iterable[str], source: str) -> dict[str, ColumnType]:
    """The metadata columns and types that the columns of an index stand for."""
    out: dict[str, ColumnType] = {}
    types = {code: kind for kind, code in _CODES.items()}
    for entry in sorted(names):
        found = _FIELD.match(entry)
        if not found:
            continue
        name = unescape(found[3])
        kind = types.get(found[2], "")
        column_type: Any = (LISTS[kind] if kind else "list") if found[1] else kind
        try:
            out[name] = merge_column_types(name, out[name], column_type) if name in out else column_type
        except ValueError as e:
            raise IndexCorrupt(source, f"two writers gave a column different types: {e}") from None
    return out


def document_columns(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, ColumnType]]:
    """What is indexed of a document's metadata, and the types it needs in the mapping."""
    present = [name for name, value in metadata.items() if value is not None]
    values: dict[str, Any] = {HAS: present}
    types: dict[str, ColumnType] = {}
    for name in present:
        value = metadata[name]
        kind = infer_column_type(value)
        parts: dict[ColumnType, Any] = {kind: value}
        if kind == "list[number]":  # whole and broken numbers, each to their own column
            whole = [v for v in value if isinstance(v, int)]
            parts = {"list[number]": [v for v in value if not isinstance(v, int)]}
            if whole:
                parts["list[integer]"] = whole
        for part, held in parts.items():
            values[index_name(name, part)] = _indexed(name, part, held)
            types[index_name(name, part)] = part
    return values, types


def _indexed(name: str, column_type: ColumnType, value: Any) -> Any:
    if isinstance(value, list):
        return [_indexed(name, column_type, v) for v in value]
    if isinstance(value, date):
        return microseconds(value)
    if isinstance(value, str) and len(value.encode()) > MAX_KEYWORD_BYTES:
        raise LimitExceeded(
            f"metadata column {name!r}: a text of {len(value.encode()):,} bytes; OpenSearch indexes at most "
            f"{MAX_KEYWORD_BYTES:,}: put it into the document's text, or leave it out"
        )
    return value
