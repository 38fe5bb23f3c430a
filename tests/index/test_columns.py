"""Field types, columns in files, and joining columns of several segments."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index.column import Column, build_columns, join_columns
from zipfian.index.columns import ColumnReader, write_columns
from zipfian.index.metadata import check_metadata, infer_column_type, merge_column_types, microseconds
from zipfian.limits import MAX_COLUMNS, MAX_NAME_CHARS
from zipfian.storage.container import SectionFile, SectionWriter


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-01-31", "string"),
        (3, "integer"),
        (3.0, "number"),
        (True, "boolean"),
        (date(2024, 1, 31), "date"),
        (datetime(2024, 1, 31), "date"),
        ([], "list"),
        (["a"], "list[string]"),
        ([1, 2], "list[integer]"),
        ((1, 2.5), "list[number]"),
        ([True], "list[boolean]"),
        ([date(2024, 1, 31)], "list[date]"),
    ],
)
def test_types_are_inferred(value: Any, expected: Any) -> None:
    assert infer_column_type(value) == expected


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**63, -(2**63) - 1, {"a": 1}, [[1]], [1, "a"], [True, 1], object(), b"x", "\ud800"],
)
def test_values_that_metadata_cannot_hold(value: Any) -> None:
    with pytest.raises(InvalidInput):
        check_metadata({"field": value}, {})


def test_a_field_keeps_its_type() -> None:
    assert merge_column_types("f", "integer", "number") == merge_column_types("f", "number", "integer") == "number"
    assert merge_column_types("f", "list", "list[date]") == "list[date]"
    for known, new in (("string", "integer"), ("integer", "boolean"), ("string", "list[string]"), ("string", "date")):
        with pytest.raises(InvalidInput, match=rf"'f' holds values of type {known}.*of type {new}".replace("[", r"\[")):
            merge_column_types("f", known, new)


def test_checking_metadata_cleans_it_and_extends_the_fields() -> None:
    columns = {"n": "integer"}
    clean, same = check_metadata({"n": np.int64(3), "missing": None}, columns)
    assert clean == {"n": 3, "missing": None} and type(clean["n"]) is int and same is columns
    clean, more = check_metadata({"n": np.float32(0.5), "tags": ("a", np.str_("b"))}, columns)
    assert clean == {"n": 0.5, "tags": ["a", "b"]}
    assert more == {"n": "number", "tags": "list[string]"} and columns == {"n": "integer"}


@pytest.mark.parametrize("name", ["", "and", "or", "not", "$date", 3, None, "\ud800"])
def test_names_that_a_field_cannot_have(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_metadata({name: 1}, {})


def test_limits() -> None:
    with pytest.raises(LimitExceeded):
        check_metadata({"x" * (MAX_NAME_CHARS + 1): 1}, {})
    full = {f"f{i}": "integer" for i in range(MAX_COLUMNS)}
    with pytest.raises(LimitExceeded):
        check_metadata({"one more": 1}, full)


def test_dates_are_microseconds_of_utc() -> None:
    assert microseconds(date(1970, 1, 2)) == 86_400_000_000 == microseconds(datetime(1970, 1, 2))
    late = datetime(1970, 1, 2, 5, tzinfo=timezone(timedelta(hours=5)))
    assert microseconds(late) == 86_400_000_000
    assert microseconds(datetime(1, 1, 1)) < 0 < microseconds(datetime.max)


integers = st.one_of(st.integers(-3, 3), st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63)]))
SCALARS = {
    "string": st.text(max_size=5).filter(lambda s: all(not 0xD800 <= ord(c) < 0xE000 for c in s)),
    "integer": integers,
    "number": st.one_of(integers, st.floats(allow_nan=False, allow_infinity=False)),
    "boolean": st.booleans(),
    "date": st.datetimes(timezones=st.sampled_from([None, UTC])),
}


@st.composite
def field_rows(draw: st.DrawFn) -> tuple[str, list[Any]]:
    kind = draw(st.sampled_from(sorted(SCALARS)))
    values = SCALARS[kind]
    if draw(st.booleans()):
        return f"list[{kind}]", draw(st.lists(st.one_of(st.none(), st.lists(values, max_size=3)), max_size=15))
    return kind, draw(st.lists(st.one_of(st.none(), values), max_size=15))


def decoded(column: Column) -> list[Any]:
    """The values of a column as Python objects, None where the column is missing."""
    kind = column.type.removeprefix("list[").removesuffix("]")
    flat = column.values.tolist()
    if kind == "string":
        flat = [column.words.term(v) if len(column.words) else None for v in flat]
    if column.odd is not None:
        for at, value in zip(column.odd_at.tolist(), column.odd.tolist(), strict=True):
            flat[at] = value
    if column.starts is not None:
        ends = column.starts.tolist()
        flat = [flat[a:b] for a, b in itertools.pairwise(ends)]
    return [v if p else None for v, p in zip(flat, column.present.tolist(), strict=True)]


def expected(rows: list[Any]) -> list[Any]:
    def one(value: Any) -> Any:
        return microseconds(value) if isinstance(value, date) else value

    return [[one(x) for x in v] if isinstance(v, list) else one(v) for v in rows]


def saved(column: Column) -> ColumnReader:
    directory = MemoryDirectory()
    ref = write_columns(directory, "a.col", column.n_docs, [("f", column)])
    return ColumnReader.open(directory, ref)


@given(field_rows())
def test_columns_survive_the_file(case: tuple[str, list[Any]]) -> None:
    column_type, rows = case
    column = saved(Column.build(column_type, rows)).column("f")
    assert column.type == column_type and decoded(column) == expected(rows)


@given(field_rows(), st.data())
def test_selecting_and_joining_columns(case: tuple[str, list[Any]], data: st.DataObject) -> None:
    column_type, rows = case
    cut = data.draw(st.integers(0, len(rows)))
    keep = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    parts = []
    for low, high in ((0, cut), (cut, len(rows))):
        chosen = saved(Column.build(column_type, rows[low:high])).column("f").select(np.array(keep[low:high], np.bool_))
        parts.append((chosen, chosen.n_docs))
    joined = saved(join_columns([(None, 2), *parts, (None, 1)])).column("f")
    kept = [r for r, k in zip(rows, keep, strict=True) if k]
    assert decoded(joined) == [None, None, *expected(kept), None]
    if joined.starts is None:
        assert not joined.values[~joined.present].any()
    if joined.words is not None:
        used = {w for v in kept if v is not None for w in (v if isinstance(v, list) else [v])}
        assert [joined.words.term(i) for i in range(len(joined.words))] == sorted(used)


def test_joining_widens_types() -> None:
    whole = Column.build("integer", [1, None, 2**53 + 1])
    joined = join_columns([(whole, 3), (Column.build("number", [0.5]), 1)])
    assert joined.type == "number" and decoded(joined) == [1, None, 2**53 + 1, 0.5]
    empty = Column.build("list", [[], None])
    joined = join_columns([(empty, 2), (Column.build("list[string]", [["a"]]), 1)])
    assert joined.type == "list[string]" and decoded(joined) == [[], None, ["a"]]
    lists = join_columns([(Column.build("list[integer]", [[1], []]), 2), (Column.build("list[number]", [[0.5]]), 1)])
    assert decoded(lists) == [[1], [], [0.5]]


def test_build_columns_refuses_what_does_not_fit() -> None:
    with pytest.raises(InvalidInput, match="has no type"):
        list(build_columns([{"a": 1}], {"b": "integer"}))
    for column_type, value in (("integer", "x"), ("integer", [1]), ("list[integer]", 1), ("string", 1), ("boolean", 1)):
        with pytest.raises(InvalidInput, match="'a'"):
            list(build_columns([{"a": value}], {"a": column_type}))


@pytest.mark.parametrize(
    ("changes", "meta"),
    [
        ({"0.values": lambda s: s + 9}, {}),
        ({"0.values": lambda s: s[:-1]}, {}),
        ({"0.present": lambda s: s[:0]}, {}),
        ({"1.starts": lambda s: s[::-1].copy()}, {}),
        ({"0.term_offsets": lambda s: s + 1}, {}),
        ({"0.term_offsets": lambda s: s[:0]}, {}),
        ({"2.odd_at": lambda s: s + 9}, {}),
        ({"2.values": lambda s: s.astype(np.int64)}, {}),
        ({}, {"columns": [{"name": "s", "type": "text", "count": 3, "some": True}]}),
        ({}, {"columns": [{"name": "s", "type": "string", "count": -1, "some": True}]}),
        ({}, {"columns": [{"name": "s", "type": "string", "count": 2, "some": True}]}),
        ({}, {"columns": "none"}),
        ({}, {"n_docs": 4}),
    ],
)
def test_forged_files_with_sound_checksums_are_errors(changes: dict[str, Any], meta: dict[str, Any] | None) -> None:
    rows = [{"s": "a", "t": ["x"], "u": 0.5}, {"s": "b", "t": []}, {"t": ["y", "z"], "u": 2**53 + 1}]
    columns = {"s": "string", "t": "list[string]", "u": "number"}
    directory = MemoryDirectory()
    ref = write_columns(directory, "a.col", 3, build_columns(rows, columns))
    good = SectionFile.open(directory, ref, "col")
    with SectionWriter(directory, "b.col", "col", {**good.meta, **meta}) as file:
        for name in good.names:
            section = good.array(name).copy()
            file.add(name, changes[name](section) if name in changes else section)
        file.close()
    with pytest.raises(IndexCorrupt):
        reader = ColumnReader.open(directory, "b.col")
        for column in reader.types:
            reader.column(column)
