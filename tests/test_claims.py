"""Every figure of README.md is in a result file: `docs/claims.toml` says in which, and this reads both.

A figure that is not there, that has changed, or that nobody mapped fails. Figures that are no results (a version, a
number of cores) are listed there as well, each with the reason.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks import before, curves, formulas, growth_report, memory, projection, report, serve, threads, vectors

ROOT = Path(__file__).parents[1]
CLAIMS = tomllib.loads((ROOT / "docs" / "claims.toml").read_text("utf-8"))
README = (ROOT / "README.md").read_text("utf-8")
NUMBER = re.compile(r"(?<![\w@.,])[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)")
NO_PROSE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|\d{4}-\d\d-\d\d", re.MULTILINE | re.DOTALL)
"""Code, targets of links and dates say nothing that was measured."""


def load(file: str) -> Any:
    return json.loads((ROOT / file).read_text("utf-8"))


def find(data: Any, path: str) -> Any:
    """`rows > dataset=scifact & method=words > nDCG@10`: keys, or what the one item of a list must have."""
    for step in path.split(" > "):
        if "=" in step and isinstance(data, list):
            wanted = dict(part.split("=", 1) for part in step.split(" & "))
            fitting = [item for item in data if all(str(at(item, key)) == value for key, value in wanted.items())]
            assert len(fitting) == 1, f"{path}: {len(fitting)} items fit {step!r}"
            data = fitting[0]
        else:
            data = at(data, step)
    return data


def at(data: Any, key: str) -> Any:
    return data[int(key)] if isinstance(data, list) else data.get(key)


def value(figure: Mapping[str, Any], file: str | None = None) -> float:
    """The stored number behind a figure: as it is, by another (`per`), or the n-th number of a sentence (`nth`)."""
    data = load(figure.get("file") or file or "")
    found = find(data, figure["at"])
    if isinstance(found, str):
        found = float(NUMBER.findall(found)[figure.get("nth", 0)].replace(",", ""))
    assert isinstance(found, int | float), f"{figure}: no number there, but {found!r:.80}"
    return float(found) / (value({**figure, "at": figure["per"], "per": ""}, file) if figure.get("per") else 1.0)


def agrees(shown: str, stored: float, scale: float = 1.0) -> bool:
    """Whether a number as printed is the stored one, rounded."""
    digits = len(shown.partition(".")[2])
    return f"{stored * scale:.{digits}f}" == f"{float(shown.replace(',', '')):.{digits}f}"


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def cells(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Row, column and content of the cells of one table of the README."""
    lines = README.splitlines()
    assert lines.count(table["header"]) == 1, f"no table with the header {table['header']!r}"
    start = lines.index(table["header"])
    names = split(lines[start])[1:]
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        row, *found = split(line)
        yield from ((row, name, cell) for name, cell in zip(names, found, strict=True))


def of_cell(table: Mapping[str, Any], row: str, column: str) -> float:
    found = find(load(table["file"].format(column=column)), table["at"].format(row=row, column=column))
    assert isinstance(found, int | float), f"{table['header']!r}: nothing stored for {row!r}, {column!r}"
    return float(found)


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def once(text: str) -> None:
    assert flat(README).count(flat(text)) == 1, f"README.md does not say once: {text!r}"


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("table", CLAIMS["table"], ids=lambda t: t["header"][:40])
def test_every_cell_of_a_table_is_a_stored_result(table: Mapping[str, Any]) -> None:
    seen = 0
    sizes = numbers(split(table["header"])[0])
    for figure, source in zip(sizes, table.get("head", []), strict=True):
        assert agrees(figure, value(source, table["file"])), f"{figure} in {table['header']!r}"
    for row, column, cell in cells(table):
        shown = numbers(cell)
        if not shown:
            continue
        assert row in table["rows"] and column in table["columns"], f"no result file for {row!r}, {column!r}: {cell}"
        keys = [(r, c) for r in listed(table["rows"][row]) for c in listed(table["columns"][column])]
        assert len(shown) == len(keys), f"{row!r}, {column!r}: {cell} has another number of figures than its claim"
        for figure, (r, c) in zip(shown, keys, strict=True):
            stored = fmean(of_cell(table, r, part) for part in c.split("+"))
            scale = table.get("scale", {}).get(column, 1.0)
            assert agrees(figure, stored, scale), f"{row!r}, {column!r}: {figure}, but the file has {stored * scale}"
            seen += 1
    assert seen


@pytest.mark.parametrize("claim", CLAIMS["claim"], ids=lambda c: c["text"][:50])
def test_every_figure_of_a_sentence_is_a_stored_result(claim: Mapping[str, Any]) -> None:
    once(claim["text"])
    shown = numbers(NO_PROSE.sub(" ", claim["text"]))
    assert len(shown) == len(claim["figures"]), f"{claim['text']!r} has the figures {shown}"
    for figure, source in zip(shown, claim["figures"], strict=True):
        stored = value(source, claim.get("file"))
        assert agrees(figure, stored, source.get("scale", 1.0)), f"{figure} in {claim['text']!r}: the file has {stored}"


def test_no_figure_is_without_a_source() -> None:
    text = README
    for table in CLAIMS["table"]:
        start = text.index(table["header"])
        text = text[:start] + text[start:].partition("\n\n")[2]
    text = flat(NO_PROSE.sub(lambda found: " " if found[0].startswith(("```", "](")) else found[0], text))
    for known in (*CLAIMS["claim"], *CLAIMS["plain"]):
        once(known["text"])
        text = text.replace(flat(known["text"]), " ")
    text = NO_PROSE.sub(" ", text)
    loose = [text[max(0, m.start() - 40) : m.end() + 20] for m in NUMBER.finditer(text)]
    assert not loose, f"figures of README.md that docs/claims.toml does not know: {loose}"


def test_what_is_no_result_says_why() -> None:
    for plain in CLAIMS["plain"]:
        assert numbers(plain["text"]) and len(plain["why"]) > 5, plain


def test_the_speed_page_shows_the_stored_records() -> None:
    stored = load("results/speed/benchmarks.json")
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    for part in (report.speed_table(stored["speed"], stored["k"]), report.own_table(stored["own"])):
        for line in part.splitlines():
            assert not line.startswith("| ") or line in page, f"docs/benchmarks.md lacks the stored line {line}"
    assert stored["ratios"] == report.ratios(stored["speed"], stored["k"])
    for line in serve.table(load("results/speed/serve.json")).splitlines():
        assert line in page, f"docs/benchmarks.md lacks the stored line {line}"
    grown = growth_report.tables(load("results/speed/growth.json")["points"])
    grown += growth_report.texts_table(load("results/speed/growth-texts.json")["points"])
    grown += projection.folder_table(load("results/speed/growth.json")["points"])
    held = memory.table(load("results/speed/memory.json")["workloads"])
    curved = curves.table(load("results/speed/curves.json")["workloads"]).replace("### ", "### Recall against time, ")
    for line in (grown + "\n" + held + curved).splitlines():
        assert line in page, f"docs/benchmarks.md lacks the stored line {line}"
    assert ("(`transcribed`)" in page) == bool(stored.get("transcribed"))  # said for as long as it is so


@pytest.mark.parametrize(
    ("shown", "stored", "scale", "same"),
    [
        (".694", 0.69409, 1, True), (".694", 0.6936, 1, True), (".694", 0.6934, 1, False), ("95.4", 0.954, 100, True),
        ("3,680", 3680, 1, True), ("3,681", 3680, 1, False), ("18.8", 18841600, 1e-6, True), ("0.9", 0.96, 1, False),
        ("-0.5", -0.52, 1, True), ("0.5", -0.52, 1, False),
    ],
)  # fmt: skip
def test_agreement_is_that_of_rounding(shown: str, stored: float, scale: float, same: bool) -> None:
    assert agrees(shown, stored, scale) is same


def test_what_counts_as_a_figure() -> None:
    text = ".694 and 3,680 of 16-term items, R@10 of BM25 (nDCG@10) by all-MiniLM-L6-v2: +0.5 to 11 %, 1.000, 3, 4."
    assert numbers(text) == [".694", "3,680", "16", "+0.5", "11", "1.000", "3", "4"]


@pytest.mark.parametrize("of", [vectors, formulas, threads], ids=lambda of: of.__name__)
def test_the_speed_page_shows_both_checkouts(of: Any) -> None:
    stored = load(f"results/speed/{of.__name__.rpartition('.')[2]}.json")
    shown = (ROOT / "docs" / "benchmarks.md").read_text("utf-8").splitlines()
    assert [line for line in of.table(stored) if line not in shown] == []
    assert '"same_hits": false' not in json.dumps(stored)


def test_the_speed_page_shows_before_and_after() -> None:
    found = json.loads((ROOT / "results" / "speed" / "before.json").read_text("utf-8"))["figures"]
    shown = (ROOT / "docs" / "benchmarks.md").read_text("utf-8").splitlines()
    lines = list(before.table(found))
    assert len(lines) > 20 and [line for line in lines if line not in shown] == []
