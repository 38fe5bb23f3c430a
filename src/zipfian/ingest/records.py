"""Files of records, JSONL, CSV and Parquet: one document each, with a picture where a column names one."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zipfian.errors import MissingExtra
from zipfian.ingest.columns import NAME_IT, Columns, Roles, check_columns
from zipfian.ingest.folder import picture_problem
from zipfian.ingest.items import CSV_SUFFIXES, IMAGE_COLUMN, JSONL_SUFFIXES, BadItem, FoundDocument
from zipfian.ingest.lines import TOO_LONG, numbered_lines, problem_of
from zipfian.ingest.tables import Table
from zipfian.limits import MAX_METADATA_BYTES, MAX_TEXT_CHARS
from zipfian.storage.regular import look

PARQUET_ROWS = 1_000
"""Rows in memory at once."""
PARQUET_BYTES = 64 * 1024 * 1024
"""Bytes of their values, unpacked."""
REST = "the rows from there on were not read"

_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON, or what begins like one and is not closed; possessive, so that it takes no time to be wrong."""


def read_records(path: Path, columns: Columns, base: str | None = None) -> Iterator[FoundDocument | BadItem]:
    """The documents of a file of records; with `base`, the file's name in its folder, ids are `base:id`."""
    suffix = path.suffix.lower()
    if suffix in JSONL_SUFFIXES:
        return _read_jsonl(path, columns, base)
    return _read_csv(path, columns, base) if suffix in CSV_SUFFIXES else _read_parquet(path, columns, base)


def _read_jsonl(path: Path, columns: Columns, base: str | None) -> Iterator[FoundDocument | BadItem]:
    """One JSON object per line; a `metadata` object is taken as it is, other columns are added to it."""
    for number, raw in numbered_lines(path):
        where = f"{path}:{number}"
        record = _parsed(raw)
        if isinstance(record, str):
            yield BadItem(where, record)
        elif record is not None:
            yield from_record(record, path, number, columns, base=base)


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


def _read_csv(path: Path, columns: Columns, base: str | None) -> Iterator[FoundDocument | BadItem]:
    """A header line, then one document per row; other columns are metadata, of the type that all their values have."""
    number = 0
    try:
        table = Table(path, columns)
        guessed = table.guessed
        for row in table.rows():
            number = row.number
            if row.problem:
                yield BadItem(f"{path}:{number}", row.problem)
            else:
                found = from_record(row.values, path, number, columns, table.roles, base)
                yield replace(found, guessed=str(path)) if guessed and isinstance(found, FoundDocument) else found
    except UnicodeError as error:
        why = problem_of(error, path)
        yield BadItem(f"{path}:{number + 1}", f"{why}; {REST}", base, rest=True)
    except csv.Error as error:
        yield BadItem(f"{path}:{number + 1}", f"not CSV ({error}); {REST}", base, rest=True)


def _read_parquet(path: Path, columns: Columns, base: str | None) -> Iterator[FoundDocument | BadItem]:
    """One document per row; columns of numbers, dates and lists keep their types as metadata."""
    parquet = _pyarrow()
    import pyarrow

    look(path)
    try:
        with parquet.ParquetFile(path) as file:
            roles = check_columns(path, list(file.schema_arrow.names), columns)
            texts = [leaf.path for leaf in map(file.schema.column, range(len(file.schema))) if _is_bytes(leaf)]
        # A value that thousands of rows share is kept once: unpacked, a file of kilobytes can take gigabytes.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            number = 0
            for batch in file.iter_batches(batch_size=PARQUET_ROWS):
                for part in _small_parts(batch):
                    for row in part.to_pylist():
                        number += 1
                        yield from_record(row, path, number, columns, roles, base)
    except pyarrow.ArrowException as error:
        yield BadItem(str(path), f"not Parquet, or damaged ({error}); {REST}", base, rest=True)


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


def from_record(
    record: Mapping[str, Any], path: Path, number: int, columns: Columns, roles: Roles | None = None,
    base: str | None = None,
) -> FoundDocument | BadItem:  # fmt: skip
    """A record as a document; a title is part of the text, so that it can be found.

    `roles` are those of its table, where it is in one. `base` is put before its id: other files may have the same.
    """
    where = f"{path}:{number}"
    rest = {key: value for key, value in record.items() if value is not None}
    roles = columns.roles(rest) if roles is None else roles
    key = roles.id if roles.id in rest else None
    if columns.id and key is None:
        return BadItem(where, f"no column {columns.id!r} for the id")
    image = _image(rest, path, roles)
    raw_id = rest.pop(key) if key is not None else _fallback_id(record, path, number, roles, base)
    if isinstance(raw_id, bool) or not isinstance(raw_id, str | int):
        return BadItem(where, f"the id must be text or a whole number, not {type(raw_id).__name__}")
    doc_id = f"{base}:{raw_id}" if base is not None and raw_id != "" else str(raw_id)
    if isinstance(image, BadItem):
        return BadItem(where, image.problem, doc_id)
    text = _text(rest, roles)
    if text is None and image is None:
        return BadItem(where, _nothing(rest, columns), doc_id)
    if text is not None and len(text) > MAX_TEXT_CHARS:
        return BadItem(where, f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    if image is not None:
        rest[IMAGE_COLUMN] = image
    return FoundDocument(doc_id, text, rest, where, image)


def _nothing(rest: Mapping[str, Any], columns: Columns) -> str:
    if columns.text or "text" in rest:
        return f"no text in column {columns.text or 'text'!r}; {NAME_IT}"
    return f"no text in column 'text', 'body' or the like, and no 'image'; {NAME_IT}"


def _text(rest: dict[str, Any], roles: Roles) -> str | None:
    """The text, taken out of the record, after its title; several captions are one text, a line each."""
    title = rest.get(roles.title) if roles.title else None
    for name in roles.texts:
        value = rest.get(name)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = "\n".join(value)
        if isinstance(value, str):
            del rest[name]
            return f"{title}\n\n{value}" if isinstance(title, str) and title.strip() else value
    names = (rest.get(name) for name in roles.names)
    return next((name for name in names if isinstance(name, str) and name.strip()), None)


def _image(rest: dict[str, Any], path: Path, roles: Roles) -> str | BadItem | None:
    """The absolute path of the record's picture; relative ones start at the folder of the file."""
    value = None if roles.image is None else rest.pop(roles.image, None)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return BadItem("", f"column {roles.image!r} must be the path of a picture, not {type(value).__name__}")
    if "://" in value:
        return BadItem("", f"{value}: a picture is read from a file; download it first and give its path")
    full = os.path.abspath(path.parent / value)
    problem = picture_problem(Path(full))
    return BadItem("", f"{full}: {problem}") if problem else full


def _fallback_id(record: Mapping[str, Any], path: Path, number: int, roles: Roles, base: str | None) -> str:
    """A picture's path names its record for good; else the place in the file has to."""
    value = None if roles.image is None else record.get(roles.image)
    if isinstance(value, str) and value:
        return value
    return f"{path.name}:{number}" if base is None else str(number)
