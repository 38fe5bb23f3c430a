"""Finding and reading documents: a folder of text files, a JSONL file or a CSV file.

Every reader yields `Document`s, or `Bad` for what could not be read; the caller decides whether that is fatal.
Nothing is dropped silently.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian.cli._html import html_to_text
from zipfian.errors import IndexNotFound, InvalidInput
from zipfian.limits import MAX_TEXT_CHARS

TEXT_SUFFIXES = frozenset({".txt", ".md", ".rst", ".html", ".htm", ".py"})
JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson"})
CSV_SUFFIXES = frozenset({".csv", ".tsv"})

MAX_FILE_BYTES = 4 * MAX_TEXT_CHARS
"""A UTF-8 character has at most four bytes: a larger file cannot be within the limit of one text."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document as found: what `Collection.add` takes, and where it came from for messages."""

    id: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    where: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The form that `Collection.add` takes."""
        return {"id": self.id, "text": self.text, "metadata": self.metadata}


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that should have been a document; `id` is the one it would have had, if that much is known."""

    where: str
    problem: str
    id: str | None = None


def read(source: Path, *, id_field: str | None = None, text_field: str = "text") -> Iterator[Document | Bad]:
    """Documents of a folder, a JSONL file, a CSV file or a single text file, in a stable order.

    `id_field` and `text_field` apply to JSONL and CSV; without `id_field`, `id` and `_id` are tried, then file:line.
    Raises at once, before anything is read, where `source` does not exist or is of no known kind.
    """
    if source.is_dir():
        return _read_folder(source)
    if not source.exists():
        raise IndexNotFound(f"{source}: no such file or folder")
    suffix = source.suffix.lower()
    if suffix in JSONL_SUFFIXES:
        return _read_jsonl(source, id_field, text_field)
    if suffix in CSV_SUFFIXES:
        return _read_csv(source, id_field, text_field)
    if suffix in TEXT_SUFFIXES:
        return iter([_read_file(source, source.name)])
    known = ", ".join(sorted(TEXT_SUFFIXES | JSONL_SUFFIXES | CSV_SUFFIXES))
    raise InvalidInput(f"{source}: not a kind of file that can be read; give a folder or one of {known}")


def find_files(folder: Path) -> Iterator[Path]:
    """Text files under a folder by name, in order; hidden entries are left out and links to folders not followed."""
    for base, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(files):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in TEXT_SUFFIXES:
                yield Path(base, name)


def _raise(error: OSError) -> None:
    raise error


def _read_folder(folder: Path) -> Iterator[Document | Bad]:
    for path in find_files(folder):
        yield _read_file(path, path.relative_to(folder).as_posix())


def _read_file(path: Path, doc_id: str) -> Document | Bad:
    """One file as one document; its path below the source is the id."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            return Bad(str(path), "not a regular file", doc_id)
        if size > MAX_FILE_BYTES:
            return Bad(str(path), f"{size:,} bytes, more than the limit of one text", doc_id)
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Bad(str(path), f"not UTF-8 (byte {error.start:,})", doc_id)
    except OSError as error:
        return Bad(str(path), error.strerror or str(error), doc_id)
    if "\x00" in text:
        return Bad(str(path), "contains NUL characters, so it is not a text file", doc_id)
    metadata: dict[str, Any] = {"path": doc_id, "type": path.suffix.lower().lstrip(".")}
    if path.suffix.lower() in {".html", ".htm"}:
        title, text = html_to_text(text)
        if title:
            metadata["title"] = title
    if len(text) > MAX_TEXT_CHARS:
        return Bad(str(path), f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    return Document(doc_id, text.replace("\r\n", "\n"), metadata, str(path))


def _read_jsonl(path: Path, id_field: str | None, text_field: str) -> Iterator[Document | Bad]:
    """One JSON object per line; a `metadata` object is taken as it is, other fields are added to it."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            where = f"{path}:{number}"
            if not raw.strip():
                continue
            try:
                record = json.loads(raw.decode("utf-8-sig"))
            except UnicodeDecodeError as error:
                yield Bad(where, f"not UTF-8 (byte {error.start:,} of the line)")
                continue
            except (ValueError, RecursionError) as error:
                yield Bad(where, f"not JSON ({error})")
                continue
            if not isinstance(record, dict):
                yield Bad(where, f"a JSON object was expected, not {type(record).__name__}")
                continue
            inner = record.pop("metadata", None)
            if inner is not None and not isinstance(inner, dict):
                yield Bad(where, f"'metadata' must be an object, not {type(inner).__name__}")
                continue
            yield _from_record({**(inner or {}), **record}, where, f"{path.name}:{number}", id_field, text_field)


def _read_csv(path: Path, id_field: str | None, text_field: str) -> Iterator[Document | Bad]:
    """A header line, then one document per row; every other column is metadata, as text."""
    dialect = "excel-tab" if path.suffix.lower() == ".tsv" else "excel"
    csv.field_size_limit(MAX_TEXT_CHARS)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, dialect=dialect, restkey="", strict=True)
            if not rows.fieldnames or text_field not in rows.fieldnames:
                found = ", ".join(rows.fieldnames or []) or "nothing"
                raise InvalidInput(
                    f"{path}: no column {text_field!r} in its first line (found: {found}); name it with --text-field"
                )
            for row in rows:
                where = f"{path}:{rows.line_num}"
                if "" in row or None in row.values():
                    yield Bad(where, f"{len(rows.fieldnames)} columns were expected, this row has more or fewer")
                    continue
                yield _from_record(row, where, f"{path.name}:{rows.line_num}", id_field, text_field)
    except UnicodeDecodeError as error:
        # The decoder works in blocks, so the row is not known, and nothing after it can be trusted.
        yield Bad(str(path), f"not UTF-8 ({error.reason}); the rows from there on were not read")
    except csv.Error as error:
        yield Bad(f"{path}:{rows.line_num}", f"not CSV ({error}); the rows from there on were not read")


def _from_record(
    record: Mapping[str, Any], where: str, fallback_id: str, id_field: str | None, text_field: str
) -> Document | Bad:
    """A JSON object or CSV row as a document; a title is part of the text, so that it can be found."""
    rest = {key: value for key, value in record.items() if value is not None}
    names = [id_field] if id_field else ["id", "_id"]
    key = next((name for name in names if name in rest), None)
    if key is None and id_field:
        return Bad(where, f"no field {id_field!r} for the id")
    raw_id = rest.pop(key) if key else fallback_id
    if isinstance(raw_id, bool) or not isinstance(raw_id, str | int):
        return Bad(where, f"the id must be text or a whole number, not {type(raw_id).__name__}")
    doc_id = str(raw_id)
    text = rest.pop(text_field, None)
    if not isinstance(text, str):
        return Bad(where, f"no text in field {text_field!r}; name the field with --text-field", doc_id)
    title = rest.get("title")
    if isinstance(title, str) and title.strip():
        text = f"{title}\n\n{text}"
    if len(text) > MAX_TEXT_CHARS:
        return Bad(where, f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    return Document(doc_id, text, rest, where)
