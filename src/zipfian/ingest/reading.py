"""A folder as documents: one for every text, picture, PDF and Word file, and many for every file of records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra
from zipfian.ingest.columns import Columns
from zipfian.ingest.documents import Documents
from zipfian.ingest.folder import Found, read_picture, read_text
from zipfian.ingest.items import DOCUMENT_SUFFIXES, BadItem, FoundDocument, is_picture, suffix_of
from zipfian.ingest.lines import problem_of
from zipfian.ingest.records import read_records


def read_folder(folder: Path, found: Found, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """What could not be listed, then the files of records, then all others, each in the order of their names.

    A picture that a record names is that record's, and no document of its own.
    """
    yield from found.bad
    named: set[str] = set()
    for path in _in_order(folder, found.records):
        for item in read_table(folder, path, columns):
            if isinstance(item, FoundDocument) and item.image is not None:
                named.add(item.image)
            yield item
    with Documents() as documents:
        for path in _in_order(folder, [*found.texts, *found.documents, *found.pictures]):
            if not (is_picture(path.name) and os.path.abspath(path) in named):
                yield read_file(path, _below(folder, path), documents, found.captions.get(path))


def read_file(
    path: Path, doc_id: str, documents: Documents, caption: Path | None = None
) -> FoundDocument | BadItem:  # fmt: skip
    """One file that is one document; `caption` is the text of a picture."""
    if is_picture(path.name):
        return read_picture(path, doc_id, caption)
    if suffix_of(path.name) not in DOCUMENT_SUFFIXES:
        return read_text(path, doc_id)
    try:
        return documents.read(path, doc_id)
    except (OSError, LimitExceeded, MissingExtra) as error:
        return BadItem(str(path), problem_of(error, path), doc_id)


def read_table(folder: Path, path: Path, columns: Columns) -> Iterator[FoundDocument | BadItem]:
    """The documents of one file among others: their ids begin with its name, and it says where they come from."""
    inside = _below(folder, path)
    about = {"path": inside, "type": suffix_of(path.name).lstrip(".")}
    try:
        for item in read_records(path, columns, inside):
            yield item if isinstance(item, BadItem) else replace(item, metadata={**about, **item.metadata})
    except (InvalidInput, LimitExceeded, MissingExtra, OSError) as error:
        yield BadItem(str(path), problem_of(error, path), inside, rest=True)


def _in_order(folder: Path, paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.relative_to(folder).parts)


def _below(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
