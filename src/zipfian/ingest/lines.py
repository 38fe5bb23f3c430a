"""Lines of a file that somebody else made: none is longer in memory than a document may be."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from zipfian.errors import NotAFile
from zipfian.limits import MAX_READ_BYTES, MAX_RECORD_LINES, MAX_RECORD_SEPARATORS
from zipfian.storage.regular import open_regular

TOO_LONG = f"a line of more than {MAX_READ_BYTES:,} bytes, the limit of one document"
_BLOCK = 1 << 20
_NOT_UTF8 = re.compile("[\ud800-\udfff]")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Number and bytes of every line; None for one that is too long, which is passed over to its end."""
    number = 0
    with open_regular(path) as file:
        while line := file.readline(MAX_READ_BYTES + 1):
            number += 1
            if len(line) <= MAX_READ_BYTES:
                yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(_BLOCK)
            yield number, None


class BoundedLines:
    """Lines for `csv.reader`, which asks for as many as a row has: a row without end is an error instead.

    The file is decoded with `surrogateescape`, so that rows before one that is not UTF-8 are still read.
    """

    def __init__(self, file: TextIO, separator: str) -> None:
        self._file = file
        self._separator = separator
        self.begin_row()

    def begin_row(self) -> None:
        """What comes now belongs to another row."""
        self._chars = self._separators = self._lines = 0

    def __iter__(self) -> BoundedLines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(MAX_READ_BYTES + 1)
        if not line:
            raise StopIteration
        if not line.isascii() and _NOT_UTF8.search(line):
            raise UnicodeError("not UTF-8")
        self._lines += 1
        self._chars += len(line)
        self._separators += line.count(self._separator)
        if self._chars > MAX_READ_BYTES:
            raise csv.Error(f"a row of more than {MAX_READ_BYTES:,} characters; is a quote not closed?")
        if self._lines > MAX_RECORD_LINES:
            raise csv.Error(f"a row of more than {MAX_RECORD_LINES:,} lines; is a quote not closed?")
        if self._separators > MAX_RECORD_SEPARATORS:
            raise csv.Error(f"a row with more than {MAX_RECORD_SEPARATORS:,} separators")
        return line


def problem_of(error: Exception, path: Path) -> str:
    """What an error says about a file, without the file's name, which stands before it anyway."""
    if isinstance(error, NotAFile):
        return error.problem
    if isinstance(error, UnicodeDecodeError):
        wide = error.encoding.startswith("utf-16")
        return f"{'damaged UTF-16' if wide else 'not UTF-8'} (byte {error.start:,})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix(f"{path}: ")
