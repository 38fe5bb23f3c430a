"""Looking at documents without a query, and filters for short."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

import zipfian as zf
from tests.cli.conftest import Command
from zipfian.cli._where import Short, filter_of, typed
from zipfian.errors import InvalidInput


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "c.zf"
    with zf.Collection.create(where) as notes:
        for i in range(30):
            day = date(2024, 1, 1 + i)
            metadata = {"type": "md" if i % 2 else "txt", "n": i, "day": day, "tags": ["all", f"t{i}"], "code": f"0{i}"}
            notes.add([{"id": f"d{i:02d}", "text": f"Text number {i}\x1b[31m", "metadata": metadata}])
        notes.commit()
    return where


def ids(zipfian: Command, *arguments: object) -> list[str]:
    code, out, err = zipfian(*arguments, "--json")
    assert code == 0, err
    return [one["id"] for one in json.loads(out)["documents"]]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (["type=md", "n<4"], ["d01", "d03"]),
        (["n>=28"], ["d28", "d29"]),
        (["n == 7"], ["d07"]),
        (["type!=md", "n<=2"], ["d00", "d02"]),
        (["day>2024-01-29"], ["d29"]),
        (["day=2024-01", "n>28"], ["d29"]),
        (["day>2024"], []),
        (["tags=t3"], ["d03"]),
        (["code=05"], ["d05"]),
        (['{"n": [1, 2]}', "type=txt"], ["d02"]),
        (["n>100"], []),
    ],
)
def test_filters_for_short(where: list[str], found: list[str], path: Path, zipfian: Command) -> None:
    options = [part for one in where for part in ("--where", one)]
    assert ids(zipfian, "list", path, *options) == found


def test_search_takes_them_too(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("search", path, "text number", "--where", "n=7", "--where", "type=md", "--json")
    assert code == 0
    assert [hit["id"] for hit in json.loads(out)["hits"]] == ["d07"]


def test_a_value_of_another_type_is_named(path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("list", path, "--where", "n=many")
    assert (code, err) == (1, f"zipfian: --where: n of {path} is of type integer, and 'many' is none\n")
    code, _, err = zipfian("list", path, "--where", "typo=md")
    assert code == 1 and "'typo'" in err and "did you mean 'type'" in err
    code, _, err = zipfian("list", path, "--where", "type")
    assert code == 2 and "usage: zipfian list" in err and "a filter is COLUMN=VALUE" in err


def test_what_is_typed() -> None:
    assert typed("a = b=c") == Short("a", "==", "b=c")
    assert typed("a!=") == Short("a", "!=", "")
    assert typed('{"a": 1}') == {"a": 1}
    assert filter_of(None, {}, "c") is None
    assert filter_of([Short("a", "==", "1"), {"b": 2}], {"a": "string"}, "c") == {"and": [{"a": "1"}, {"b": 2}]}
    with pytest.raises(InvalidInput):
        filter_of([Short("a", ">", "x")], {"a": "date"}, "c")


def test_pages(path: Path, zipfian: Command) -> None:
    code, out, err = zipfian("list", path, "--limit", 3, "--offset", 2)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["id", "code", "day", "n", "text"]
    assert [line.split()[0] for line in lines[1:]] == ["d02", "d03", "d04"]
    assert "2024-01-03" in lines[1] and "\x1b" not in out
    assert err == "3 to 5 of 30; the next: --offset 5\n"
    assert zipfian("list", path, "--offset", 28)[2] == "29 to 30 of 30\n"
    assert zipfian("list", path, "--offset", 30)[1:] == ("", "none of 30\n")
    assert zipfian("list", path, "--where", "n>99")[1:] == ("", "no document\n")
    answer = json.loads(zipfian("list", path, "--limit", 1, "--json")[1])
    assert (answer["total"], answer["offset"]) == (30, 0)
    assert answer["documents"][0]["metadata"]["day"] == "2024-01-01"


@pytest.mark.parametrize("offset", ["-1", "x"])
def test_an_offset_that_is_none(offset: str, path: Path, zipfian: Command) -> None:
    assert zipfian("list", path, f"--offset={offset}")[0] == 2
