"""Filters against a naive evaluation of the same expression on each document's metadata."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.doubles import MemoryDirectory
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.column import Column, build_columns
from zipfian.index.columns import ColumnReader, write_columns
from zipfian.index.metadata import check_metadata, microseconds
from zipfian.limits import MAX_FILTER_DEPTH, MAX_FILTER_NODES, MAX_FILTER_VALUES
from zipfian.retrieve.filters import parse_where


class Columns:
    """A segment as filters see it."""

    def __init__(self, rows: list[Any], live: Any = None) -> None:
        columns: Mapping[str, Any] = {}
        clean = []
        for row in rows:
            plain, columns = check_metadata(row, columns)
            clean.append(plain)
        self.columns = dict(columns)
        self.live = np.ones(len(rows), np.bool_) if live is None else np.array(live, np.bool_)
        directory = MemoryDirectory()
        self._reader = ColumnReader.open(
            directory, write_columns(directory, "a.col", len(rows), build_columns(clean, columns))
        )

    def column(self, name: str) -> Column | None:
        return self._reader.column(name)

    def found(self, where: dict[str, Any]) -> list[int]:
        return np.flatnonzero(parse_where(where, self.columns).mask(self)).tolist()


OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def comparable(value: Any) -> Any:
    return microseconds(value) if isinstance(value, date) else value


def naive(where: dict[str, Any], row: dict[str, Any]) -> bool:
    """The meaning of a filter, document by document."""
    results = []
    for key, value in where.items():
        if key == "and":
            results.append(all(naive(w, row) for w in value))
        elif key == "or":
            results.append(any(naive(w, row) for w in value))
        elif key == "not":
            results.append(not naive(value, row))
        elif isinstance(value, dict):
            results.append(all(naive_condition(row.get(key), op, operand) for op, operand in value.items()))
        else:
            results.append(naive_condition(row.get(key), "in" if isinstance(value, list) else "==", value))
    return all(results)


def naive_condition(stored: Any, op: str, operand: Any) -> bool:
    if op == "exists":
        return (stored is not None) == operand
    if stored is None:
        return False
    elements = [comparable(v) for v in (stored if isinstance(stored, list) else [stored])]
    if op == "in":
        return any(any(holds(e, "==", v) for v in operand) for e in elements)
    if op == "not in":
        return any(all(holds(e, "!=", v) for v in operand) for e in elements)
    return any(holds(e, op, operand) for e in elements)


def holds(element: Any, op: str, operand: Any) -> bool:
    """A year or a month compares with as much of a date as it says itself."""
    if isinstance(operand, str) and isinstance(element, int):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=element)
        return OPERATORS[op](moment.isoformat()[: len(operand)], operand)
    return OPERATORS[op](element, comparable(operand))


integers = st.one_of(
    st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63)])
)
floats = st.one_of(
    st.sampled_from([0.0, -0.5, 1.0, 2.5, 2.0**53, 2.0**63, -(2.0**63), 1e300]), st.floats(-3, 3, allow_nan=False)
)
words = st.sampled_from(["", "a", "ab", "b", "é", "z", "\U0001f600", "\uffff"])
dates = st.one_of(
    st.dates(date(2020, 1, 1), date(2020, 1, 4)),
    st.sampled_from([date(2019, 12, 31), date(2020, 1, 31), date(2020, 2, 1), date(2021, 1, 1)]),
    st.sampled_from([datetime(2019, 12, 31, 23, 59, 59, 999_999), datetime(2020, 12, 31, 23, 59, 59, 999_999)]),
    st.datetimes(datetime(2020, 1, 1), datetime(2020, 1, 4)),
    st.datetimes(
        datetime(2020, 1, 1), datetime(2020, 1, 2), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))])
    ),
)
VALUES = {"s": words, "i": integers, "n": st.one_of(integers, floats), "b": st.booleans(), "d": dates}
LISTS = {f"{key}s": st.lists(values, max_size=3) for key, values in VALUES.items()}
rows = st.fixed_dictionaries({}, optional={**VALUES, **LISTS, "none": st.none()})
SEED_ROW = {"s": "a", "i": 1, "n": 0.5, "b": True, "d": date(2020, 1, 1)}
SEED_ROW |= {f"{key}s": [value] for key, value in SEED_ROW.items()}
OPERANDS = {**VALUES, "i": st.one_of(integers, floats, st.sampled_from([2**80, -(2**80), float("inf"), float("-inf")]))}
OPERANDS["n"] = OPERANDS["i"]
OPERANDS["d"] = st.one_of(dates, st.sampled_from(["2019", "2020", "2021", "2019-12", "2020-01", "2020-02", "2020-12"]))


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    column = draw(st.sampled_from(sorted(VALUES)))
    operands = OPERANDS[column]
    name = column + draw(st.sampled_from(["", "s"]))
    operators = ["==", "!=", "in", "not in", "exists"] + ([] if column == "b" else ["<", "<=", ">", ">="])

    def operand(op: str) -> Any:
        if op == "exists":
            return draw(st.booleans())
        return draw(st.lists(operands, max_size=4)) if op.endswith("in") else draw(operands)

    how = draw(st.sampled_from(["plain", "list", "operators"]))
    if how == "plain":
        return {name: draw(operands)}
    if how == "list":
        return {name: draw(st.lists(operands, max_size=4))}
    return {name: {op: operand(op) for op in draw(st.lists(st.sampled_from(operators), min_size=1, max_size=2))}}


expressions = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
        st.builds(lambda a, b: {**a, **b}, inner, inner),
    ),
    max_leaves=6,
)


@given(st.lists(rows, max_size=12), expressions, st.data())
def test_a_filter_means_what_its_definition_says(documents: Any, where: dict[str, Any], data: st.DataObject) -> None:
    documents = [SEED_ROW, *documents]
    live = data.draw(st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)))
    segment = Columns(documents, live)
    expected = [i for i, row in enumerate(documents) if live[i] and naive(where, row)]
    assert segment.found(where) == expected


def test_the_examples_of_the_documentation() -> None:
    segment = Columns(
        [
            {"lang": "en", "year": 2021, "tags": ["a", "b"]},
            {"lang": "de", "year": 2019, "tags": []},
            {"lang": "fr"},
            {"year": 2022.5, "day": date(2024, 5, 1)},
            {"day": datetime(2024, 5, 1, 12), "lang": None},
        ]
    )
    assert segment.found({}) == [0, 1, 2, 3, 4]
    assert segment.found({"lang": "en"}) == [0]
    assert segment.found({"lang": ["en", "de"]}) == [0, 1]
    assert segment.found({"lang": {"en", "de"}, "year": {">=": 2020}}) == [0]
    assert segment.found({"year": {">=": 2020, "<": 2022.5}}) == [0]
    assert segment.found({"lang": {"!=": "en"}}) == [1, 2]
    assert segment.found({"not": {"lang": "en"}}) == [1, 2, 3, 4]
    assert segment.found({"lang": {"exists": False}}) == [3, 4]
    assert segment.found({"tags": {"exists": True}}) == [0, 1]
    assert segment.found({"tags": "b"}) == [0]
    assert segment.found({"or": [{"lang": "en"}, {"not": {"year": {"exists": True}}}]}) == [0, 2, 4]
    assert segment.found({"day": "2024-05-01"}) == [3]
    assert segment.found({"day": {">=": "2024-05-01T10:00:00+00:00"}}) == [4]
    assert segment.found({"day": {"<": date(2024, 5, 2)}}) == [3, 4]
    assert segment.found({"day": {">": "2024-05-01T13:59:59+02:00"}}) == [4]
    assert segment.found({"year": np.int64(2021)}) == [0]


FIELDS = {
    "lang": "string",
    "year": "integer",
    "price": "number",
    "open": "boolean",
    "day": "date",
    "tags": "list[string]",
}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lang == en", "a filter is a mapping"),
        ([{"lang": "en"}], "a filter is a mapping"),
        ({"language": "en"}, r"unknown metadata column 'language'.*known columns: day, lang, open, price, tags, year"),
        ({"pricee": 1}, "did you mean 'price'"),
        ({3: 1}, "unknown metadata column 3"),
        ({"lang": {}}, "an operator is missing"),
        ({"lang": {"=": "en"}}, "unknown operator '='; use one of =="),
        ({"lang": {"like": "en"}}, "unknown operator"),
        ({"lang": 3}, "compares with text, not 3"),
        ({"lang": None}, "exists"),
        ({"lang": {"in": "en"}}, "needs a list"),
        ({"lang": {"in": [["en"]]}}, "compares with text"),
        ({"tags": {"==": ["a"]}}, "compares with text"),
        ({"year": "2020"}, "compares with a number, not '2020'"),
        ({"year": True}, "compares with a number"),
        ({"price": float("nan")}, "compares with a number"),
        ({"open": 1}, "compares with a boolean"),
        ({"open": {"<": True}}, "booleans"),
        ({"day": "yesterday"}, "an ISO date"),
        ({"day": 20240101}, "an ISO date"),
        ({"lang": {"exists": 1}}, "True or False"),
        ({"and": {"lang": "en"}}, "needs a list of filters"),
        ({"or": []}, "needs a list of filters"),
        ({"not": [{"lang": "en"}]}, "a filter is a mapping"),
        ({"and": ["lang"]}, "a filter is a mapping"),
    ],
)
def test_mistakes_are_explained(where: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_where(where, FIELDS)


def test_a_collection_without_metadata() -> None:
    with pytest.raises(InvalidInput, match="have no metadata"):
        parse_where({"lang": "en"}, {})


def test_size_limits() -> None:
    where = {"lang": "en"}
    for _ in range(MAX_FILTER_DEPTH - 1):
        where = {"not": where}
    parse_where(where, FIELDS)
    with pytest.raises(LimitExceeded, match="deep"):
        parse_where({"not": where}, FIELDS)
    parse_where({"or": [{"lang": "en"}] * (MAX_FILTER_NODES - 1)}, FIELDS)
    with pytest.raises(LimitExceeded, match="conditions"):
        parse_where({"or": [{"lang": "en"}] * MAX_FILTER_NODES}, FIELDS)
    with pytest.raises(LimitExceeded, match="values"):
        parse_where({"year": {"in": list(range(MAX_FILTER_VALUES + 1))}}, FIELDS)
    endless: dict[str, Any] = {}
    endless["not"] = endless
    with pytest.raises(LimitExceeded, match="deep"):
        parse_where(endless, FIELDS)


def test_a_field_of_empty_lists_matches_nothing_but_exists() -> None:
    segment = Columns([{"tags": []}, {}])
    assert segment.found({"tags": "a"}) == []
    assert segment.found({"tags": {"exists": True}}) == [0]


def test_a_field_that_this_segment_lacks() -> None:
    segment = Columns([{"a": 1}, {"a": 2}], [True, False])
    segment.columns["b"] = "integer"
    assert segment.found({"b": 1}) == []
    assert segment.found({"b": {"exists": False}}) == [0]
    assert segment.found({"not": {"b": 1}}) == [0]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"d": "2023"}, [0, 1]),
        ({"d": {"in": ["2022", "2024-03"]}}, [3]),
        ({"d": ["2023-12", datetime(2024, 2, 29)]}, [1, 2]),
        ({"d": {"!=": "2023"}}, [2, 3, 4]),
        ({"d": {"<": "2024"}}, [0, 1]),
        ({"d": {"<=": "2024-02"}}, [0, 1, 2]),
        ({"d": {">": "2024-02"}}, [3, 4]),
        ({"d": {">=": "2024-03"}}, [3, 4]),
        ({"d": "9999"}, [4]),
        ({"d": "9999-12"}, [4]),
    ],
)
def test_years_and_months(where: dict[str, Any], found: list[int]) -> None:
    moments = [
        datetime(2023, 1, 1),
        datetime(2023, 12, 31, 23, 59, 59, 999_999),
        datetime(2024, 2, 29),
        datetime(2024, 3, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ]
    assert Columns([{"d": moment} for moment in moments]).found(where) == found


def test_a_list_is_of_a_year_by_one_of_its_dates() -> None:
    """Not by one that is after its beginning and another that is before its end."""
    segment = Columns([{"ds": [date(2022, 5, 1), date(2024, 5, 1)]}, {"ds": [date(2023, 5, 1)]}])
    assert segment.found({"ds": "2023"}) == [1]
    assert segment.found({"ds": {"!=": "2023"}}) == [0]


@pytest.mark.parametrize("text", ["0000", "2024-00", "2024-13", "24", "2024-1", "20245", "2024-"])
def test_what_is_no_year_and_no_month(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"an ISO date such as '2024-01-31', '2024-01' or '2024', or a date object"):
        Columns([{"d": date(2024, 1, 1)}]).found({"d": text})


def test_a_year_is_a_text_where_texts_are() -> None:
    assert Columns([{"s": "2024"}, {"s": "2024-01-01"}]).found({"s": "2024"}) == [0]
