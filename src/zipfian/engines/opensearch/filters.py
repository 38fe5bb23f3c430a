"""A `where` expression as a query of the engine, with exactly the meaning it has in the embedded engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from zipfian.engines.opensearch.columns import HAS, index_name
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.metadata import ColumnType, ScalarType, element_type
from zipfian.limits import MAX_FILTER_GAPS
from zipfian.retrieve.filters import And, Condition, Exists, Filter, Not, Or, parse_where

Clause = dict[str, Any]

NOTHING: Clause = {"match_none": {}}

_RANGE = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_LONG = (-(2**63), 2**63 - 1)


def to_query(where: Mapping[str, Any], columns: Mapping[str, ColumnType]) -> Clause:
    """Parse and translate."""
    return _translate(parse_where(where, columns), columns)


def _translate(part: Filter, columns: Mapping[str, ColumnType]) -> Clause:
    if isinstance(part, And):
        return {"bool": {"filter": [_translate(p, columns) for p in part.parts]}} if part.parts else {"match_all": {}}
    if isinstance(part, Or):
        return _any([_translate(p, columns) for p in part.parts])
    if isinstance(part, Not):
        return {"bool": {"must_not": [_translate(part.part, columns)]}}
    if isinstance(part, Exists):
        has: Clause = {"term": {HAS: part.column}}
        return has if part.wanted else {"bool": {"must_not": [has]}}
    if isinstance(part, Condition):
        return _condition(part, columns[part.column])
    raise InvalidInput(f"a filter of kind {type(part).__name__} has no translation to OpenSearch")


def _condition(condition: Condition, column_type: ColumnType) -> Clause:
    kind = element_type(column_type)
    if kind is None or (not condition.values and not condition.negated):
        return NOTHING
    held: dict[str, ScalarType] = {index_name(condition.column, column_type): kind}
    if kind == "number":  # whole numbers have a column of their own
        whole: ColumnType = "list[integer]" if column_type.startswith("list") else "integer"
        held[index_name(condition.column, whole)] = "integer"
    if condition.negated and not column_type.startswith("list"):
        one_of = _any([_equal(condition, column, held[column]) for column in held])
        return {"bool": {"filter": [{"term": {HAS: condition.column}}], "must_not": [one_of]}}
    return _any([_elements(condition, column, kind) for column, kind in held.items()])


def _elements(condition: Condition, column: str, kind: ScalarType) -> Clause:
    """Some element satisfies the comparison."""
    if condition.negated:
        return _none_of(condition, column, kind)
    if condition.operator in ("in", "within"):
        return _equal(condition, column, kind)
    return _range(column, kind, {condition.operator: condition.values[0]})


def _equal(condition: Condition, column: str, kind: ScalarType) -> Clause:
    """Some element is one of the values, or lies within one of the spans."""
    if condition.operator == "in":
        return _one_of(column, kind, condition.values)
    bounds = condition.values
    spans = [{">=": start, "<": end} for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    _check_ranges(len(spans), condition.column, "'in'")
    return _any([_range(column, kind, span) for span in spans])


def _one_of(column: str, kind: ScalarType, values: tuple[Any, ...]) -> Clause:
    usable = [v for v in values if _fits(kind, v)]
    return {"terms": {column: usable}} if usable else NOTHING


def _none_of(condition: Condition, column: str, kind: ScalarType) -> Clause:
    """Some element is none of the values: it lies in one of the gaps between them."""
    if kind == "boolean":
        return _one_of(column, kind, tuple(v for v in (False, True) if v not in condition.values))
    spans = condition.operator == "within"
    ordered = list(condition.values) if spans else sorted({v for v in condition.values if _fits(kind, v)})
    _check_ranges(len(ordered), condition.column, "'not in'")
    if not ordered:
        return {"exists": {"field": column}}
    after = ">=" if spans else ">"
    between = list(itertools.pairwise(ordered))[1 if spans else 0 :: 2 if spans else 1]
    gaps = [{"<": ordered[0]}, *({after: a, "<": b} for a, b in between), {after: ordered[-1]}]
    return _any([_range(column, kind, gap) for gap in gaps])


def _check_ranges(count: int, name: str, operator: str) -> None:
    if count > MAX_FILTER_GAPS:
        raise LimitExceeded(
            f"column {name!r}: {operator} with {count} values that take a range each; OpenSearch takes "
            f"{MAX_FILTER_GAPS} at most"
        )


def _range(column: str, kind: ScalarType, bounds: Mapping[str, Any]) -> Clause:
    """A range; bounds of whole-number columns are made whole first, so that comparing with fractions is exact."""
    out: dict[str, Any] = {}
    for operator, value in bounds.items():
        if kind in ("integer", "date"):
            bound = _whole_bound(operator, value)
            if bound is None:
                return NOTHING
            operator, value = bound
        elif isinstance(value, int) and not isinstance(value, bool):
            operator, value = _real_bound(operator, value)
        out[_RANGE[operator]] = value
    return {"range": {column: out}}


def _whole_bound(operator: str, value: Any) -> tuple[str, int] | None:
    """The same bound as `<=` or `>=` of a 64-bit integer; None if nothing can satisfy it."""
    if operator in ("<", "<="):
        if value == math.inf or value > _LONG[1]:
            return "<=", _LONG[1]
        if value == -math.inf or value < _LONG[0]:
            return None
        top = math.floor(value)
        if operator == "<" and top == value:
            top -= 1
        return ("<=", top) if top >= _LONG[0] else None
    if value == -math.inf or value < _LONG[0]:
        return ">=", _LONG[0]
    if value == math.inf or value > _LONG[1]:
        return None
    bottom = math.ceil(value)
    if operator == ">" and bottom == value:
        bottom += 1
    return (">=", bottom) if bottom <= _LONG[1] else None


def _real_bound(operator: str, value: int) -> tuple[str, float]:
    """The same bound as a double: an integer that lies between two doubles moves to one of them."""
    near = _double(value)
    below = operator in ("<", "<=")
    if near == value:
        return operator, near
    if near < value:
        return ("<=" if below else ">"), near
    return ("<" if below else ">="), near


def _fits(kind: ScalarType, value: Any) -> bool:
    """Whether a column of this kind can hold the value at all."""
    if kind in ("integer", "date"):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and _LONG[0] <= value <= _LONG[1]
    if kind == "number":
        return isinstance(value, float) or _double(value) == value
    return True


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(1.7976931348623157e308, value)


def _any(parts: list[Clause]) -> Clause:
    if len(parts) == 1:
        return parts[0]
    return {"bool": {"should": parts, "minimum_should_match": 1}}
