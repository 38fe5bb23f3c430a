"""CSV as spreadsheets and countries write it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from zipfian.ingest.source import BadItem, FoundDocument, open_source
from zipfian.ingest.tables import separator_of
from zipfian.ingest.values import Kind, both, convert, kind_of


def documents(path: Path, content: str | bytes, **options: Any) -> list[FoundDocument]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = list(open_source(path, **options))
    assert [item for item in found if isinstance(item, BadItem)] == []
    return [item for item in found if isinstance(item, FoundDocument)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", "integer", 12),
        ("-7", "integer", -7),
        ("0", "integer", 0),
        ("007", "text", "007"),
        ("+4912345", "text", "+4912345"),
        ("1234567890123456", "text", "1234567890123456"),
        ("999999999999999", "integer", 999_999_999_999_999),
        ("0.50", "number", 0.5),
        ("-.5", "number", -0.5),
        ("1.5e3", "number", 1500.0),
        ("1.5e999", "text", "1.5e999"),
        ("1e5", "text", "1e5"),
        ("1,5", "text", "1,5"),
        ("TRUE", "boolean", True),
        ("false", "boolean", False),
        ("yes", "text", "yes"),
        ("2024-02-29", "date", date(2024, 2, 29)),
        ("2023-02-29", "text", "2023-02-29"),
        ("2024/02/29", "date", date(2024, 2, 29)),
        ("31.12.2024", "date", date(2024, 12, 31)),
        ("12.31.2024", "text", "12.31.2024"),
        ("03/04/2024", "text", "03/04/2024"),
        ("2024-02-29T10:30:00Z", "date", datetime(2024, 2, 29, 10, 30, tzinfo=UTC)),
        ("2024-02-29 10:30", "date", datetime(2024, 2, 29, 10, 30)),
        ("2024-02-29 25:30", "text", "2024-02-29 25:30"),
        ("", "text", ""),
        ("1" * 1_000_000, "text", "1" * 1_000_000),
    ],
)
def test_what_a_text_is(text: str, kind: Kind, value: Any) -> None:
    assert kind_of(text) == kind
    made = convert(text, kind_of(text))
    assert (made, type(made)) == (value, type(value))


def test_kinds_of_one_column() -> None:
    assert both(None, "integer") == "integer"
    assert both("integer", "number") == both("number", "integer") == "number"
    assert both("integer", "comma") == "comma"
    assert both("comma", "number") == both("date", "integer") == both("boolean", "text") == "text"


def test_columns_get_the_type_that_all_their_values_have(tmp_path: Path) -> None:
    rows = (
        "id,text,year,price,on,sold,zip,mixed\n"
        "1,One,2020,1,2024-01-31,true,01234,1\n"
        "2,Two,,2.50,2024-02-01 12:00,False,99999,n/a\n"
        "3,Three,2022, ,,,,\n"
    )
    one, two, three = documents(tmp_path / "d.csv", rows)
    assert one.metadata == {
        "year": 2020, "price": 1.0, "on": date(2024, 1, 31), "sold": True, "zip": "01234", "mixed": "1"
    }  # fmt: skip
    assert type(one.metadata["price"]) is float
    assert two.metadata == {
        "price": 2.5, "on": datetime(2024, 2, 1, 12), "sold": False, "zip": "99999", "mixed": "n/a"
    }  # fmt: skip
    assert three.metadata == {"year": 2022}, "an empty cell is no value"
    assert [d.id for d in (one, two, three)] == ["1", "2", "3"]


def test_ids_and_texts_stay_texts(tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", "id,title,text\n12,2020,2024-01-31\n")
    assert (one.id, one.text, one.metadata) == ("12", "2020\n\n2024-01-31", {"title": "2020"})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_the_separator_is_found(separator: str, name: str, tmp_path: Path) -> None:
    rows = [("id", "text", "n"), ("a", '"One, two; three | four"', "1"), ("b", '"x\ny"', "2")]
    found = documents(tmp_path / name, "\n".join(separator.join(row) for row in rows))
    assert [(d.id, d.text, d.metadata) for d in found] == [
        ("a", "One, two; three | four", {"n": 1}),
        ("b", "x\ny", {"n": 2}),
    ]


def test_the_separator_that_fits_most_rows_wins() -> None:
    assert separator_of("id;text, long\na;b\nc;d, e, f\n", ",") == ";"
    assert separator_of("text\nOne; two\nthree; four\n", ",") == ","
    assert separator_of("", "\t") == "\t"
    assert separator_of("id;a, b, c\n1;x\n2;y\n", ",") == ";", "rows that are alike count more than many columns"


def test_a_spreadsheet_says_its_separator(tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", "sep=;\r\nid;text\r\na;One, two\r\n")
    assert (one.id, one.text, one.where) == ("a", "One, two", f"{tmp_path / 'd.csv'}:3")


def test_decimal_commas_go_with_semicolons(tmp_path: Path) -> None:
    one, two = documents(tmp_path / "d.csv", "id;text;price;both\na;x;1,50;1,5\nb;y;2;2.5\n")
    assert (one.metadata, two.metadata) == ({"price": 1.5, "both": "1,5"}, {"price": 2.0, "both": "2.5"})
    (one,) = documents(tmp_path / "d.csv", 'id,text,price\na,x,"1,50"\n')
    assert one.metadata == {"price": "1,50"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings_of_spreadsheets(encoding: str, tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", "id;text;größe\r\na;Das Café – “gut”;3\r\n".encode(encoding))
    assert (one.id, one.text, one.metadata) == ("a", "Das Café – “gut”", {"größe": 3})


def test_bytes_of_no_encoding(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"id,text\na,one\nb,\x81\xff\nc,three\n")
    *_, bad = open_source(path)
    assert isinstance(bad, BadItem) and bad.rest
    assert bad.problem == "not UTF-8; the rows from there on were not read"


@pytest.mark.parametrize(
    ("header", "text", "title"),
    [
        ("ID,Title,Body", "T\n\nB", "Title"),
        ("Id, title , Description", "T\n\nB", "title"),
        ("_id,SUBJECT,message", "T\n\nB", "SUBJECT"),
        ("uuid,name,content", "B", "name"),
    ],
)
def test_headers_are_known_in_whatever_case(header: str, text: str, title: str, tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", f"{header}\nx1,T,B\n")
    assert (one.id, one.text, one.metadata) == ("x1", text, {title: "T"})


def test_the_first_of_several_texts(tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", "id,description,Text\na,D,T\n")
    assert (one.text, one.metadata) == ("T", {"description": "D"})
    (one,) = documents(tmp_path / "d.csv", "id,description,Text\na,D,\n")
    assert one.text == "D"


def test_a_table_of_names_is_searched_by_them(tmp_path: Path) -> None:
    (one,) = documents(tmp_path / "d.csv", "id,name,price\na,Red lamp,12\n")
    assert (one.text, one.metadata) == ("Red lamp", {"name": "Red lamp", "price": 12})


def test_headers_without_a_name_and_twice_the_same(tmp_path: Path) -> None:
    """As pandas writes its index, and spreadsheets their empty columns."""
    (one,) = documents(tmp_path / "d.csv", ",id,text,n,n,\n0,a,x,1,two,\n")
    assert (one.id, one.text, one.metadata) == ("a", "x", {"n": 1, "n_2": "two"})


def test_a_row_that_spoils_a_type_late_is_seen(tmp_path: Path) -> None:
    rows = "id,text,n\n" + "".join(f"{i},x,{i}\n" for i in range(5_000)) + "last,x,none\n"
    found = documents(tmp_path / "d.csv", rows)
    assert (found[0].metadata, found[-1].metadata) == ({"n": "0"}, {"n": "none"})
