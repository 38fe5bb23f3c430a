"""CSV as programs and countries write it: separator, encoding and the types of its columns are found by looking."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian.ingest.columns import Columns, Roles, check_columns
from zipfian.ingest.encodings import UTF8, WINDOWS_1252, encoding_of
from zipfian.ingest.lines import BoundedLines
from zipfian.ingest.values import Kind, both, convert, kind_of
from zipfian.limits import MAX_TEXT_CHARS
from zipfian.storage.regular import blocks, open_regular

SEPARATORS = (",", ";", "\t", "|")
SAMPLE_CHARS = 65_536
SAMPLE_ROWS = 50
"""What is looked at to find the separator."""

_SAID = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
"""The first line that spreadsheets write to say their separator."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: values by column, or what is wrong with it."""

    number: int
    """Of the last line that belongs to it."""
    values: dict[str, Any]
    problem: str = ""


class Table:
    """A file of rows with a header; `rows` reads it, as often as it is called."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._encoding = encoding_of(lambda: blocks(path))
        self._separator, self._said = self._look()
        self.header: list[str] = []
        with self._opened() as (lines, reader):
            self.header = _header(next(reader, []))
            del lines
        self.roles: Roles = check_columns(path, [name for name in self.header if name], columns)
        self._kinds = self._find_kinds()

    @property
    def guessed(self) -> bool:
        """Whether its bytes were taken for Windows-1252."""
        return self._encoding == WINDOWS_1252

    def rows(self) -> Iterator[Row]:
        """Every row; `csv.Error` and `UnicodeError` where the rest cannot be read."""
        for number, cells in self._cells():
            if len(cells) != len(self.header):
                yield Row(number, {}, f"{len(self.header)} columns were expected, this row has {len(cells):,}")
            else:
                yield Row(number, {name: value for name, value in self._values(cells) if value is not None})

    def _values(self, cells: list[str]) -> Iterator[tuple[str, Any]]:
        """An empty cell is no value: a table cannot tell it from an empty text."""
        for name, cell in zip(self.header, cells, strict=True):
            if name and cell != "":
                kind = self._kinds.get(name, "text")
                yield name, convert(cell, kind) if cell.strip() or kind == "text" else None

    def _find_kinds(self) -> dict[str, Kind]:
        """What each column of metadata is in all of its rows; reading ends where nothing is left to be found out."""
        open_columns = [(i, name) for i, name in enumerate(self.header) if name and name not in self.roles.plain]
        kinds: dict[str, Kind] = {}
        comma = self._separator == ";"
        try:
            for _, cells in self._cells():
                if not open_columns:
                    break
                if len(cells) != len(self.header):
                    continue
                for i, name in open_columns:
                    if cells[i].strip():
                        kinds[name] = both(kinds.get(name), kind_of(cells[i], decimal_comma=comma))
                open_columns = [(i, name) for i, name in open_columns if kinds.get(name) != "text"]
        except (csv.Error, UnicodeError):
            pass  # whoever reads the rows meets it again, and says so
        return kinds

    def _cells(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row that is not blank, without the header."""
        with self._opened() as (lines, reader):
            next(reader, None)
            lines.begin_row()
            for cells in reader:
                if cells:
                    yield reader.line_num + self._said, cells
                lines.begin_row()

    @contextmanager
    def _opened(self) -> Iterator[tuple[BoundedLines, Any]]:
        csv.field_size_limit(MAX_TEXT_CHARS)
        errors = "surrogateescape" if self._encoding == UTF8 else "strict"
        with io.TextIOWrapper(open_regular(self.path), encoding=self._encoding, errors=errors, newline="") as file:
            lines = BoundedLines(file, self._separator)
            if self._said:
                next(lines, None)
                lines.begin_row()
            yield lines, csv.reader(lines, delimiter=self._separator, strict=True)

    def _look(self) -> tuple[str, bool]:
        """The separator, and whether a first line says it."""
        with io.TextIOWrapper(open_regular(self.path), encoding=self._encoding, errors="replace", newline="") as file:
            sample = file.read(SAMPLE_CHARS)
        if said := _SAID.match(sample):
            return said[1], True
        return separator_of(sample, "\t" if self.path.suffix.lower() == ".tsv" else ","), False


def separator_of(sample: str, usual: str) -> str:
    """The separator that cuts the header, and most rows like it, into the most columns.

    >>> separator_of("id;text\\n1;One, two, three\\n", ",")
    ';'
    """
    lines = sample.splitlines(keepends=True)
    if len(sample) >= SAMPLE_CHARS and len(lines) > 1:
        lines.pop()
    best, found = (0.0, 1), usual
    for separator in (usual, *(s for s in SEPARATORS if s != usual)):
        widths: list[int] = []
        try:
            for cells in csv.reader(lines, delimiter=separator):
                if cells:
                    widths.append(len(cells))
                if len(widths) > SAMPLE_ROWS:
                    break
        except csv.Error:
            pass  # the rows so far have to do
        if widths and widths[0] > 1:
            alike = sum(width == widths[0] for width in widths) / len(widths)
            if (alike, widths[0]) > best:
                best, found = (alike, widths[0]), separator
    return found


def _header(cells: list[str]) -> list[str]:
    """Names of columns without blanks around them; a second one of the same name is numbered, '' has no name."""
    out: list[str] = []
    seen: set[str] = set()
    for cell in cells:
        name, n = cell.strip(), 2
        while name and name in seen:
            name, n = f"{cell.strip()}_{n}", n + 1
        seen.add(name)
        out.append(name)
    return out
