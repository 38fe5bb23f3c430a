"""Metadata filters: a `where` expression, and the documents of a segment that it allows.

    {"lang": "en"}                                    equal
    {"lang": ["en", "de"], "year": {">=": 2020}}      one of; several entries must all hold
    {"year": {">=": 2020, "<": 2024}}                 == != in "not in" < <= > >= exists
    {"or": [{"lang": "en"}, {"not": {"year": {"exists": True}}}]}

A list column matches when any of its elements does. A document that lacks a column matches no condition on it (not even
`!=`), except `exists: False`; `not` is everything else: the complement among the live documents. Dates compare with
`datetime` and `date` objects or ISO strings; a time without a zone is UTC. A year, "2024", and a month, "2024-05", are
all their moments: equal is within, and more is after their end. Comparing integers with fractions is exact.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Protocol

import numpy as np

from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.index.column import Column
from zipfian.index.metadata import ColumnType, ScalarType, element_type, microseconds
from zipfian.limits import MAX_FILTER_DEPTH, MAX_FILTER_NODES, MAX_FILTER_VALUES
from zipfian.retrieve._compare import Bools, compare_numbers, is_one_of, matching_words
from zipfian.retrieve.periods import Span, joined, span_of, within

Operator = Literal["in", "within", "<", "<=", ">", ">="]
OPERATORS = ("==", "!=", "in", "not in", "<", "<=", ">", ">=", "exists")
_DEEPEST = 2 * MAX_FILTER_DEPTH + 2
"""Containers in containers: a mapping and a list for each `and`, then a column, its operator and a list of values."""

_RANGES: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Segment(Protocol):
    """What a filter needs of a segment."""

    @property
    def live(self) -> Bools:
        """Which documents are not deleted."""

    def column(self, name: str) -> Column | None:
        """The column of a column, None if no document has it."""


class Filter(Protocol):
    """A parsed `where`."""

    def mask(self, segment: Segment) -> Bools:
        """The live documents of a segment that the filter allows."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one column; `==` is `in` with one value, `!=` and `not in` are its opposite per element.

    `within` is `in` with years or months of dates; its values are bounds of spans, as `periods.joined` makes them.
    """

    column: str
    operator: Operator
    values: tuple[Any, ...]
    negated: bool = False

    def mask(self, segment: Segment) -> Bools:
        column = segment.column(self.column)
        if column is None:
            return np.zeros(len(segment.live), np.bool_)
        found: Bools = self._elements(column) ^ np.bool_(self.negated)
        if column.starts is not None:
            running = np.zeros(len(found) + 1, np.int64)
            np.cumsum(found, out=running[1:])
            found = running[column.starts[1:]] > running[column.starts[:-1]]
        return found & column.present & segment.live

    def _elements(self, column: Column) -> Bools:
        """Which of the column's values satisfy the comparison."""
        kind = element_type(column.type)
        if kind is None or not self.values:
            return np.zeros(len(column.values), np.bool_)
        if kind == "string" and column.words is not None:
            if not len(column.words):
                return np.zeros(len(column.values), np.bool_)
            wanted: Bools = matching_words(column.words, self.operator, self.values)[column.values]
            return wanted
        if kind == "boolean":
            return np.isin(column.values, self.values)
        found = self._numbers(column.values)
        if column.odd_at is not None and column.odd is not None:
            found[column.odd_at] = self._numbers(column.odd)
        return found

    def _numbers(self, values: Any) -> Bools:
        if self.operator == "in":
            return is_one_of(values, self.values)
        if self.operator == "within":
            return within(values, self.values)
        return compare_numbers(values, self.operator, self.values[0])


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether a document has a column."""

    column: str
    wanted: bool

    def mask(self, segment: Segment) -> Bools:
        column = segment.column(self.column)
        has = np.zeros(len(segment.live), np.bool_) if column is None else column.present
        return (has if self.wanted else ~has) & segment.live


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; without parts, everything does."""

    parts: tuple[Filter, ...]

    def mask(self, segment: Segment) -> Bools:
        found = segment.live.copy()
        for part in self.parts:
            found &= part.mask(segment)
        return found


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Filter, ...]

    def mask(self, segment: Segment) -> Bools:
        found = np.zeros(len(segment.live), np.bool_)
        for part in self.parts:
            found |= part.mask(segment)
        return found


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter

    def mask(self, segment: Segment) -> Bools:
        return segment.live & ~self.part.mask(segment)


def parse_where(where: Mapping[str, Any], columns: Mapping[str, ColumnType]) -> Filter:
    """Parse a `where` expression for a collection whose metadata columns have these types.

    `InvalidInput` says what is wrong with the expression and what would be right; `LimitExceeded` if it is too large.
    """
    if isinstance(where, Mapping):
        check_depth(where)
    return _Parser(columns).expression(where, 1)


def check_depth(where: Any) -> None:
    """`LimitExceeded` for a filter that is nested too deep for anything that reads it by recursion.

    Without recursion itself, and every container is looked at once at each depth, however often it is used.
    """
    level, depth = [where], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise LimitExceeded(f"a filter is nested more than {MAX_FILTER_DEPTH} deep")
        inside: dict[int, Any] = {}
        for value in level:
            parts = value.values() if isinstance(value, Mapping) else value
            inside.update((id(p), p) for p in parts if isinstance(p, Mapping | list | tuple | Set))
        level = list(inside.values())


class _Parser:
    def __init__(self, columns: Mapping[str, ColumnType]) -> None:
        self.columns = columns
        self.nodes = 0

    def expression(self, where: Any, depth: int) -> Filter:
        if not isinstance(where, Mapping):
            raise InvalidInput(f"a filter is a mapping such as {{'column': value}}, not {shown(where)}")
        if depth > MAX_FILTER_DEPTH:
            raise LimitExceeded(f"a filter is nested more than {MAX_FILTER_DEPTH} deep")
        parts: list[Filter] = []
        for key, value in where.items():
            if key == "and":
                parts.append(And(self.list_of(key, value, depth)))
            elif key == "or":
                parts.append(Or(self.list_of(key, value, depth)))
            elif key == "not":
                self.count()
                parts.append(Not(self.expression(value, depth + 1)))
            else:
                parts += self.conditions(key, value)
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def list_of(self, key: str, value: Any, depth: int) -> tuple[Filter, ...]:
        self.count()
        if not isinstance(value, list | tuple) or not value:
            raise InvalidInput(f"{key!r} needs a list of filters, not {shown(value)}")
        return tuple(self.expression(part, depth + 1) for part in value)

    def conditions(self, name: Any, value: Any) -> list[Filter]:
        if name not in self.columns:
            raise InvalidInput(self.unknown_column(name))
        if isinstance(value, Mapping):
            if not value:
                raise InvalidInput(f"column {name!r}: an operator is missing; use one of {', '.join(OPERATORS)}")
            return [self.condition(name, operator, operand) for operator, operand in value.items()]
        return [self.condition(name, "in" if isinstance(value, list | tuple | Set) else "==", value)]

    def condition(self, name: str, operator: Any, value: Any) -> Filter:
        self.count()
        if operator == "exists":
            if not isinstance(value, bool):
                raise InvalidInput(f"column {name!r}: 'exists' needs True or False, not {shown(value)}")
            return Exists(name, value)
        if operator in ("in", "not in"):
            if not isinstance(value, list | tuple | Set):
                raise InvalidInput(f"column {name!r}: {operator!r} needs a list of values, not {shown(value)}")
            if len(value) > MAX_FILTER_VALUES:
                raise LimitExceeded(f"column {name!r}: {len(value)} values; the limit is {MAX_FILTER_VALUES}")
            return self.one_of(name, tuple(value), operator == "not in")
        if operator in ("==", "!="):
            return self.one_of(name, (value,), operator == "!=")
        if operator not in _RANGES:
            raise InvalidInput(
                f"column {name!r}: unknown operator {shown(operator)}; use one of {', '.join(OPERATORS)}"
            )
        if element_type(self.columns[name]) == "boolean":
            raise InvalidInput(f"column {name!r} holds booleans, which {operator!r} does not compare; use == or !=")
        span = self.span(name, value)
        if span is None:
            return Condition(name, _RANGES[operator], (self.value(name, value),))
        start, end = span
        if operator in ("<=", ">"):
            return Condition(name, "<" if operator == "<=" else ">=", (end,))
        return Condition(name, _RANGES[operator], (start,))

    def one_of(self, name: str, values: tuple[Any, ...], negated: bool) -> Condition:
        spans = [self.span(name, value) for value in values]
        if not any(spans):
            return Condition(name, "in", tuple(self.value(name, value) for value in values), negated)
        moments = [self.value(name, value) for value, span in zip(values, spans, strict=True) if span is None]
        whole = [*filter(None, spans), *((moment, moment + 1) for moment in moments)]
        return Condition(name, "within", joined(whole), negated)

    def span(self, name: str, value: Any) -> Span | None:
        """The span of a year or a month, in a column of dates."""
        return span_of(value) if element_type(self.columns[name]) == "date" else None

    def value(self, name: str, value: Any) -> Any:
        """A value to compare with, in the form in which the column holds its values."""
        if isinstance(value, np.generic):
            value = value.item()
        kind = element_type(self.columns[name])
        if kind is None:  # only empty lists so far: no value can match
            return value
        found = _comparable(kind, value)
        if found is None:
            hint = (
                "an ISO date such as '2024-01-31', '2024-01' or '2024', or a date object"
                if kind == "date"
                else f"a {kind}"
            )
            hint = {"integer": "a number", "string": "text"}.get(kind, hint)
            why = "; use {'exists': False} for documents without it" if value is None else ""
            kind_name = self.columns[name]
            raise InvalidInput(
                f"column {name!r} is of type {kind_name} and compares with {hint}, not {shown(value)}{why}"
            )
        return found

    def unknown_column(self, name: Any) -> str:
        if not self.columns:
            return f"unknown metadata column {shown(name)}: the documents of this collection have no metadata"
        near = difflib.get_close_matches(str(name), self.columns, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return f"unknown metadata column {shown(name)}{hint}; known columns: {_listed(sorted(self.columns))}"

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_FILTER_NODES:
            raise LimitExceeded(f"a filter has more than {MAX_FILTER_NODES} conditions")


def _comparable(kind: ScalarType, value: Any) -> Any:
    """The value to compare with, or None if it is of the wrong type."""
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind == "date":
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                return None
        return microseconds(value) if isinstance(value, date) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
