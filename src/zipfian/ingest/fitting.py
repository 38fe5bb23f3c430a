"""Metadata of many sources under the types of one collection: no document is lost because a value does not fit.

A collection gives a column one type for good. Files that people wrote do not: `year` is 2021 in one and "unknown"
in the next, `tags` a list here and a word there. A value is brought into the type that its column has, where that loses
nothing; otherwise the document goes without it, and it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any, cast

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.metadata import ColumnType, check_metadata, element_type, infer_column_type, merge_column_types
from zipfian.ingest.values import Kind, convert

_KINDS: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean", "date": "date"}


class Fitting:
    """The types of a collection's columns, as they grow during a run."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns: Mapping[str, ColumnType] = cast("Mapping[str, ColumnType]", dict(columns))
        self.left_out: Counter[str] = Counter()
        """Values that went into no document, by column."""

    def fit(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata that the collection takes, as far as their types go.

        What no column could hold, such as a nested object, stays as it is: the collection says what is wrong with it.
        """
        out: dict[str, Any] = {}
        for name, value in metadata.items():
            known = self._columns.get(name)
            try:
                kind = None if value is None or known is None else infer_column_type(value)
            except InvalidInput:
                kind = None
            if known is None or kind is None or _goes(name, known, kind):
                out[name] = value
                continue
            fitting = _as(value, known)
            if fitting is None:
                self.left_out[name] += 1
            else:
                out[name] = fitting
        try:
            _, self._columns = check_metadata(out, self._columns)
        except (InvalidInput, LimitExceeded):
            pass  # the document will be refused, so its columns do not count
        return out


def _goes(name: str, known: ColumnType, new: ColumnType) -> bool:
    try:
        merge_column_types(name, known, new)
    except InvalidInput:
        return False
    return True


def _as(value: Any, known: ColumnType) -> Any:
    """A value as one of another type; None where that would lose something."""
    inner = element_type(known)
    if known.startswith("list"):
        parts = value if isinstance(value, list | tuple) else [value]
        found = [part if _is(part, inner) else _scalar(part, inner) for part in parts]
        return None if None in found else found
    if isinstance(value, list | tuple):
        if known == "string":
            return ", ".join(_text(part) for part in value)
        return _as(value[0], known) if len(value) == 1 else None
    return value if _is(value, inner) else _scalar(value, inner)


def _is(value: Any, kind: str | None) -> bool:
    return kind is None or infer_column_type(value) == kind


def _scalar(value: Any, kind: str | None) -> Any:
    if kind == "string":
        return _text(value)
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and kind in _KINDS:
        try:
            return convert(value, _KINDS[kind])
        except (ValueError, OverflowError):
            return None
    return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)
