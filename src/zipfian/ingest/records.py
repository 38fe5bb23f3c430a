"""Files of records, JSONL, CSV and Parquet: one document each, with a picture where a column names one."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra
from zipfian.ingest.folder import picture_problem
from zipfian.ingest.items import CSV_SUFFIXES, IMAGE_COLUMN, JSONL_SUFFIXES, BadItem, FoundDocument
from zipfian.ingest.lines import TOO_LONG, BoundedLines, numbered_lines
from zipfian.limits import MAX_COLUMNS, MAX_METADATA_BYTES, MAX_NAME_CHARS, MAX_TEXT_CHARS
from zipfian.storage.regular import look, open_regular

TEXT_COLUMNS = ("text", "caption", "captions")
"""Tried in this order where no column is named."""
PARQUET_ROWS = 1_000
"""Rows in memory at once."""
PARQUET_BYTES = 64 * 1024 * 1024
"""Bytes of their values, unpacked."""
NAME_IT = "name the column (text_column, --text-column)"
"""In messages a setting stands as Python and as the command line know it."""
COLUMNS_SHOWN = 20
"""Names of columns in a message."""

_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON, or what begins like one and is not closed; possessive, so that it takes no time to be wrong."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; None: the usual names."""

    id: str | None = None
    text: str | None = None
    image: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Names under which the text may be."""
        return (self.text,) if self.text else TEXT_COLUMNS

    @property
    def picture(self) -> str:
        """Name under which the picture may be."""
        return self.image or IMAGE_COLUMN


def read_records(path: Path, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """The documents of a file of records."""
    suffix = path.suffix.lower()
    if suffix in JSONL_SUFFIXES:
        return _read_jsonl(path, columns)
    return _read_csv(path, columns) if suffix in CSV_SUFFIXES else _read_parquet(path, columns)


def _read_jsonl(path: Path, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """One JSON object per line; a `metadata` object is taken as it is, other columns are added to it."""
    for number, raw in numbered_lines(path):
        where = f"{path}:{number}"
        record = _parsed(raw)
        if isinstance(record, str):
            yield BadItem(where, record)
        elif record is not None:
            yield from_record(record, path, number, columns)


def _parsed(raw: bytes | None) -> dict[str, Any] | str | None:
    """The object of a line, what is wrong with it, or None for a blank line."""
    if raw is None:
        return TOO_LONG
    if not raw.strip():
        return None
    if len(raw) > MAX_METADATA_BYTES and len(_JSON_STRING.sub(b"", raw)) > MAX_METADATA_BYTES:
        return f"more than {MAX_METADATA_BYTES:,} bytes beside its texts: too many columns and values for one document"
    try:
        record = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start:,} of the line)"
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})"
    if not isinstance(record, dict):
        return f"a JSON object was expected, not {type(record).__name__}"
    inner = record.pop("metadata", None)
    if inner is not None and not isinstance(inner, dict):
        return f"'metadata' must be an object, not {type(inner).__name__}"
    return {**(inner or {}), **record}


def _read_csv(path: Path, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """A header line, then one document per row; every other column is metadata, as text."""
    tabs = path.suffix.lower() == ".tsv"
    csv.field_size_limit(MAX_TEXT_CHARS)
    try:
        with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            lines = BoundedLines(file, "\t" if tabs else ",")
            rows = csv.DictReader(lines, dialect="excel-tab" if tabs else "excel", restkey="", strict=True)
            present = list(rows.fieldnames or [])
            check_columns(path, present, columns)
            lines.begin_row()
            for row in rows:
                if "" in row or None in row.values():
                    yield BadItem(
                        f"{path}:{rows.line_num}", f"{len(present)} columns were expected, this row has more or fewer"
                    )
                else:
                    yield from_record(row, path, rows.line_num, columns)
                lines.begin_row()
    except UnicodeError as error:
        yield BadItem(f"{path}:{rows.line_num + 1}", f"{error}; the rows from there on were not read")
    except csv.Error as error:
        yield BadItem(f"{path}:{rows.line_num}", f"not CSV ({error}); the rows from there on were not read")


def _read_parquet(path: Path, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """One document per row; columns of numbers, dates and lists keep their types as metadata."""
    parquet = _pyarrow()
    import pyarrow

    look(path)
    try:
        with parquet.ParquetFile(path) as file:
            check_columns(path, list(file.schema_arrow.names), columns)
            texts = [leaf.path for leaf in map(file.schema.column, range(len(file.schema))) if _is_bytes(leaf)]
        # A value that thousands of rows share is kept once: unpacked, a file of kilobytes can take gigabytes.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            number = 0
            for batch in file.iter_batches(batch_size=PARQUET_ROWS):
                for part in _small_parts(batch):
                    for row in part.to_pylist():
                        number += 1
                        yield from_record(row, path, number, columns)
    except pyarrow.ArrowException as error:
        yield BadItem(str(path), f"not Parquet, or damaged ({error}); the rows from there on were not read")


def _is_bytes(leaf: Any) -> bool:
    return str(leaf.physical_type) == "BYTE_ARRAY"


def _small_parts(batch: Any) -> Iterator[Any]:
    """The rows of a batch in as many pieces as keep their unpacked values few: as a rule in one."""
    longest = sum(_longest(column) for column in batch.columns)
    rows = max(1, PARQUET_BYTES // max(1, longest))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _longest(column: Any) -> int:
    """Bytes of the largest value that a column may have, in whatever it is nested."""
    import pyarrow
    import pyarrow.compute

    if pyarrow.types.is_dictionary(column.type):
        return int(pyarrow.compute.max(pyarrow.compute.binary_length(column.dictionary)).as_py() or 0)
    return int(column.nbytes)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    return pyarrow.parquet


def check_columns(path: Path, present: list[str], columns: Columns) -> None:
    """A table that has no column to search, or more than a collection has columns, is refused at once."""
    if len(present) > MAX_COLUMNS:
        raise LimitExceeded(f"{path}: {len(present):,} columns, more than the {MAX_COLUMNS:,} of a collection")
    if any(name in present for name in (*columns.texts, columns.picture)):
        return
    more = f" and {len(present) - COLUMNS_SHOWN:,} more" if len(present) > COLUMNS_SHOWN else ""
    found = ", ".join(name[:MAX_NAME_CHARS] for name in present[:COLUMNS_SHOWN]) + more or "nothing"
    wanted = " or ".join(map(repr, (*columns.texts, columns.picture)))
    raise InvalidInput(
        f"{path}: no column {wanted} (found: {found}); name one (text_column, --text-column; image_column, "
        "--image-column)"
    )


def from_record(record: Mapping[str, Any], path: Path, number: int, columns: Columns) -> FoundDocument | BadItem:
    """A record as a document; a title is part of the text, so that it can be found."""
    where = f"{path}:{number}"
    rest = {key: value for key, value in record.items() if value is not None}
    names = [columns.id] if columns.id else ["id", "_id"]
    key = next((name for name in names if name in rest), None)
    if key is None and columns.id:
        return BadItem(where, f"no column {columns.id!r} for the id")
    image = _image(rest, path, columns)
    raw_id = rest.pop(key) if key else _fallback_id(record, path, number, columns)
    if isinstance(raw_id, bool) or not isinstance(raw_id, str | int):
        return BadItem(where, f"the id must be text or a whole number, not {type(raw_id).__name__}")
    doc_id = str(raw_id)
    if isinstance(image, BadItem):
        return BadItem(where, image.problem, doc_id)
    text = _text(rest, columns)
    if text is None and image is None:
        if columns.text or "text" in rest:
            return BadItem(where, f"no text in column {columns.text or 'text'!r}; {NAME_IT}", doc_id)
        return BadItem(where, f"no text in column 'text' or 'caption', and no 'image'; {NAME_IT}", doc_id)
    title = rest.get("title")
    if text is not None and isinstance(title, str) and title.strip():
        text = f"{title}\n\n{text}"
    if text is not None and len(text) > MAX_TEXT_CHARS:
        return BadItem(where, f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    if image is not None:
        rest[IMAGE_COLUMN] = image
    return FoundDocument(doc_id, text, rest, where, image)


def _text(rest: dict[str, Any], columns: Columns) -> str | None:
    """The text, taken out of the record; several captions are one text, a line each."""
    for name in columns.texts:
        value = rest.get(name)
        if isinstance(value, str):
            return str(rest.pop(name))
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return "\n".join(rest.pop(name))
    return None


def _image(rest: dict[str, Any], path: Path, columns: Columns) -> str | BadItem | None:
    """The absolute path of the record's picture; relative ones start at the folder of the file."""
    value = rest.pop(columns.picture, None)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return BadItem("", f"column {columns.picture!r} must be the path of a picture, not {type(value).__name__}")
    if "://" in value:
        return BadItem("", f"{value}: a picture is read from a file; download it first and give its path")
    full = os.path.abspath(path.parent / value)
    problem = picture_problem(Path(full))
    return BadItem("", f"{full}: {problem}") if problem else full


def _fallback_id(record: Mapping[str, Any], path: Path, number: int, columns: Columns) -> str:
    """A picture's path names its record for good; else the place in the file has to."""
    value = record.get(columns.picture)
    return value if isinstance(value, str) and value else f"{path.name}:{number}"
