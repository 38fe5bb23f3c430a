"""Values of metadata columns, and how many documents have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.collection.searcher import Mask, Searcher
from zipfian.errors import InvalidInput, shown
from zipfian.index.column import Column
from zipfian.index.metadata import ColumnType, element_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value, and how many documents have it."""

    value: Any
    """As a filter takes it; of dates a year, `"2024"`, or a month, `"2024-05"`."""
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one metadata column; `Collection.facets` counts them.

    Examples
    --------
    >>> Facet("string", (FacetValue("en", 2),), more=0, missing=1).values[0].count
    2
    """

    type: str
    """The column's type."""
    values: tuple[FacetValue, ...]
    """Most frequent first; of equal ones, the smaller value first."""
    more: int
    """Further values that were not listed."""
    missing: int
    """Documents without this column."""
    lowest: Any = None
    """Smallest value of a column of numbers or dates."""
    highest: Any = None
    """Largest value of one."""
    by: Literal["year", "month"] | None = None
    """What dates are counted by: years, or months where all lie in one year."""


def chosen_columns(columns: Sequence[str] | None, known: Mapping[str, str]) -> list[str]:
    """The columns to count: those named, which must be there, or all."""
    if columns is None:
        return list(known)
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidInput(
            f"facets takes a sequence of column names, not {shown(columns)}; put a single one into a list"
        )
    for name in columns:
        if name not in known:
            raise InvalidInput(f"there is no metadata column {shown(name)}; columns are: {', '.join(known) or 'none'}")
    return list(columns)


def count_column(searcher: Searcher, mask: Mask | None, name: str, limit: int) -> Facet:
    """The values of a column among the documents that a filter allows. A list counts once for each of its values."""
    counts: Counter[Any] = Counter()
    having = 0
    for base, segment in zip(searcher.bases.tolist(), searcher.snapshot.segments, strict=False):
        column = segment.column(name)
        if column is None:
            continue
        wanted = segment.live & column.present
        if mask is not None:
            wanted = wanted & mask[base : base + segment.n_docs]
        having += int(np.count_nonzero(wanted))
        counts.update(_counted(column, wanted))
    return facet_of(searcher.settings.columns[name], counts, searcher.count(mask) - having, limit)


def facet_of(column_type: ColumnType, counts: Mapping[Any, int], missing: int, limit: int) -> Facet:
    """A facet from values as they are stored."""
    kind = element_type(column_type)
    ends = (min(counts), max(counts)) if kind in ("integer", "number", "date") and counts else None
    by: Literal["year", "month"] | None = None
    if column_type == "date" and ends is not None:  # hardly two photos are of the same second
        by = "month" if _dated(ends[0]).year == _dated(ends[1]).year else "year"
        counts = _by_period(counts, by)
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    outward = _dated if kind == "date" else _same
    lowest, highest = (None, None) if ends is None else map(outward, ends)
    return Facet(
        column_type,
        tuple(FacetValue(value if by else outward(value), counts[value]) for value in ranked[:limit]),
        max(0, len(ranked) - limit),
        missing,
        lowest,
        highest,
        by,
    )


def _by_period(counts: Mapping[int, int], by: Literal["year", "month"]) -> Counter[str]:
    """How many documents are of each year, or of each month."""
    out: Counter[str] = Counter()
    for moment, count in counts.items():
        when = _dated(moment)
        out[f"{when.year:04}" if by == "year" else f"{when.year:04}-{when.month:02}"] += count
    return out


def _counted(column: Column, wanted: Mask) -> dict[Any, int]:
    """How many of the wanted documents of a segment have each value."""
    some = column.select(wanted)
    values, numbers = _numbered(some)
    if some.starts is not None:  # a document that says the same twice says it once
        owners = np.repeat(np.arange(some.n_docs), np.diff(some.starts))
        numbers = np.unique(np.stack([owners, numbers]), axis=1)[1]
    counts = np.bincount(numbers, minlength=len(values)).tolist()
    return {value: count for value, count in zip(values, counts, strict=True) if count}


def _numbered(column: Column) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """The distinct values of a column, and the number of each entry's value among them."""
    distinct, numbers = np.unique(column.values, return_inverse=True)
    values = distinct.tolist() if column.words is None else [column.words.term(int(code)) for code in distinct]
    numbers = numbers.astype(np.int64)
    if (
        column.odd_at is not None and column.odd is not None
    ):  # whole numbers that were rounded to be stored as fractions
        exact, which = np.unique(column.odd, return_inverse=True)
        numbers[column.odd_at] = len(values) + which
        values = [*values, *exact.tolist()]
    return values, numbers


def _dated(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def _same(value: Any) -> Any:
    return value
