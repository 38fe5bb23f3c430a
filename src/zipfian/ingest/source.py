"""Finding and reading documents: a folder of texts and pictures, a file of records, or a single file.

Every reader yields `FoundDocument`s, or `BadItem` for what could not be read; the caller decides whether that is fatal.
Nothing is dropped silently.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from zipfian.errors import IndexNotFound, InvalidInput, shown
from zipfian.ingest.columns import Columns
from zipfian.ingest.documents import Documents
from zipfian.ingest.exclude import patterns_of
from zipfian.ingest.folder import Found, find, read_text
from zipfian.ingest.items import (
    DOCUMENT_SUFFIXES,
    JSONL_SUFFIXES,
    PICTURE_SUFFIXES,
    RECORD_SUFFIXES,
    TEXT_SUFFIXES,
    BadItem,
    FoundDocument,
)
from zipfian.ingest.lines import numbered_lines
from zipfian.ingest.reading import read_file, read_folder, read_table
from zipfian.ingest.records import read_records

T = TypeVar("T")

SAMPLE = 1_000
"""Records looked at to judge what a file holds."""
SAMPLE_TEXTS = 100
SAMPLE_CHARS = 4_000
"""Text files opened to judge how long the texts of a folder are, and what is kept of each."""
SAMPLE_DOCUMENTS = 5
SAMPLE_FILES = 20
"""PDF and Word files, and files of records, that are opened for the same."""

__all__ = ["BadItem", "FoundDocument", "Source", "Survey", "open_source"]


@dataclass(frozen=True, slots=True)
class Survey:
    """What a source holds, judged before it is read.

    Examples
    --------
    >>> Survey(items=3, texts=2, pictures=1, captions=0).texts
    2
    """

    items: int | None
    """Documents; None where only reading would tell."""
    texts: int
    """Documents that have a text, captions included; like `pictures` scaled up from a sample where there is one."""
    pictures: int
    """Documents that have a picture."""
    captions: int
    """Pictures that have a text."""
    chars: int = 0
    """Characters of all texts."""
    sample: tuple[str, ...] = ()
    """The beginnings of some texts."""
    others: str = ""
    """What lies in the folder and is not read, in a few words."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something that can be read; `open_source` makes one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "notes.jsonl"
    >>> _ = file.write_text('{"id": "a", "text": "Cats sleep."}\\n{"id": "b"}\\n')
    >>> for item in open_source(file):
    ...     print(item.id, item.problem if isinstance(item, BadItem) else item.text)
    a Cats sleep.
    b no text in column 'text', 'body' or the like, and no 'image'; name the column (text_column, --text-column)
    >>> open_source(file).survey().items
    2
    """

    path: Path
    """Where it is."""
    columns: Columns
    """Which column of a record holds what."""
    found: Found | None = None
    """The files of a folder."""

    @property
    def name(self) -> str:
        """What tells it from other sources: its absolute path, without links."""
        return str(self.path.resolve())

    def __iter__(self) -> Iterator[FoundDocument | BadItem]:
        return self.read()

    def nothing(self, others: str = "") -> InvalidInput:
        """The error that it holds no document; `others` is what it holds instead, as `Survey.others` has it."""
        if self.found is None:
            return InvalidInput(f"{self.path}: no record in it")
        kinds = (TEXT_SUFFIXES | DOCUMENT_SUFFIXES, RECORD_SUFFIXES, PICTURE_SUFFIXES)
        texts, records, pictures = (" ".join(sorted(suffixes)) for suffixes in kinds)
        held = f" It holds {others}." if others else ""
        return InvalidInput(
            f"{self.path}: no text ({texts}), no file of records ({records}) and no picture ({pictures}) in it that "
            f"could be indexed.{held}"
        )

    def read(self) -> Iterator[FoundDocument | BadItem]:
        """Its documents in a stable order."""
        if self.found is not None:
            return read_folder(self.path, self.found, self.columns)
        if self.path.suffix.lower() in RECORD_SUFFIXES:
            return read_records(self.path, self.columns)
        beside = [p for p in _captions_of(self.path) if p.is_file()]
        with Documents() as documents:
            return iter([read_file(self.path, self.path.name, documents, beside[0] if beside else None)])

    def survey(self) -> Survey:
        """What it holds; of a file of records the beginning is read, of a folder the names and some texts."""
        return _judged(self.path, self.read()) if self.found is None else self._folder(self.found)

    def _folder(self, found: Found) -> Survey:
        texts = [*found.texts, *found.captions.values()]
        sample = [d.text for p in _some(texts, SAMPLE_TEXTS) if isinstance(d := read_text(p, p.name), FoundDocument)]
        plain = _Part.of(len(texts), [text for text in sample if text])
        with Documents() as documents:
            read = [read_file(p, p.name, documents) for p in _some(found.documents, SAMPLE_DOCUMENTS)]
        papers = _Part.of(len(found.documents), [d.text for d in read if isinstance(d, FoundDocument) and d.text])
        some = _some(found.records, SAMPLE_FILES)
        records = [_judged(path, read_table(self.path, path, self.columns)) for path in some]
        scale = len(found.records) / len(records) if records else 0.0
        items: int | None = len(found.texts) + len(found.documents) + len(found.pictures)
        if scale > 1 or any(one.items is None for one in records):
            items = None
        else:
            items = (items or 0) + sum(one.items or 0 for one in records)
        others = ", ".join(f"{count:,} {end}" for end, count in found.others.most_common(4))
        if len(found.others) > 4:
            others += " and more"
        several = [text for one in records for text in one.sample]
        return Survey(
            items,
            plain.count + papers.count + round(scale * sum(one.texts for one in records)),
            len(found.pictures) + round(scale * sum(one.pictures for one in records)),
            len(found.captions) + round(scale * sum(one.captions for one in records)),
            plain.chars + papers.chars + round(scale * sum(one.chars for one in records)),
            _beginnings([*plain.sample, *papers.sample, *_some(several, SAMPLE_TEXTS)]),
            others,
        )


def open_source(
    path: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    follow_links: bool = False,
    exclude: Iterable[str] = (),
    default_excludes: bool = True,
) -> Source:
    """A folder of texts, pictures and records, a file of records (JSONL, CSV, Parquet), or a single text or picture.

    PDF and Word files are texts, too; PDF needs the extra `documents`.

    Parameters
    ----------
    path
        Where it is. A folder is listed at once; files are opened as they are read.
    id_column
        Field of a record that holds the id. By default `id`, `_id`, `uuid`, `doc_id` and `docid` are tried, then the
        path of the picture, then file:line. In a folder, the path of the file and a colon stand before it.
    text_column
        Field that holds the text; by default `text`, `body`, `content`, `description`, `abstract` ..., `caption`, in
        upper or lower case; and where there is none, `title` or `name`.
    image_column
        Field that holds the path of a picture, which starts at the folder of the file; by default `image`.
    follow_links
        Symbolic links in a folder may lead out of it. They are counted, and followed only if this is true.
    exclude
        Patterns of names that are left out, such as `"*.log"`; one with a slash, `"drafts/*"`, is about the path.
    default_excludes
        Whether hidden entries, `node_modules`, `__pycache__` and the like are left out as well.

    Returns
    -------
    Source
        Iterate it for documents and for what could not be read, in an order that stays the same.

    Raises
    ------
    IndexNotFound
        There is nothing at `path`.
    InvalidInput
        It is of no kind that can be read, or a setting is given that does nothing there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "cats.txt").write_text("Cats sleep.")
    >>> [(found.id, found.text) for found in open_source(folder)]
    [('cats.txt', 'Cats sleep.')]
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"a source is a path of a folder or a file, not {shown(path)}")
    place = Path(path)
    columns = Columns(id_column, text_column, image_column)
    patterns = patterns_of(exclude, default_excludes)
    if not place.exists():
        raise IndexNotFound(f"{place}: no such file or folder")
    found = find(place, follow_links=follow_links, exclude=patterns) if place.is_dir() else None
    has_records = place.suffix.lower() in RECORD_SUFFIXES if found is None else bool(found.records)
    if not has_records:
        _check_columns(place, {"id": id_column, "text": text_column, "image": image_column})
    if found is not None:
        return Source(place, columns, found)
    _check_file(place, follow_links, bool(exclude) or not default_excludes)
    known = TEXT_SUFFIXES | DOCUMENT_SUFFIXES | RECORD_SUFFIXES | PICTURE_SUFFIXES
    if place.suffix.lower() not in known:
        raise InvalidInput(
            f"{place}: not a kind of file that can be read; give a folder or one of {', '.join(sorted(known))}"
        )
    return Source(place, columns)


def _judged(path: Path, found: Iterator[FoundDocument | BadItem]) -> Survey:
    """What a file of records holds, by its beginning."""
    head = list(itertools.islice(found, SAMPLE))
    good = [d for d in head if isinstance(d, FoundDocument)]
    items = len(head) if len(head) < SAMPLE else _count(path)
    scale = (items or len(head)) / len(head) if head else 1.0
    texts = [d.text for d in good if d.text]
    pictures = sum(d.image is not None for d in good)
    captions = sum(d.image is not None and bool(d.text) for d in good)
    return Survey(
        items, round(len(texts) * scale), round(pictures * scale), round(captions * scale),
        round(sum(map(len, texts)) * scale), _beginnings(_some(texts, SAMPLE_TEXTS)),
    )  # fmt: skip


def _count(path: Path) -> int | None:
    """Records of a long file, where counting lines tells."""
    if path.suffix.lower() not in JSONL_SUFFIXES:
        return None
    return sum(1 for _, line in numbered_lines(path) if line is None or line.strip())


def _check_columns(place: Path, columns: dict[str, str | None]) -> None:
    """A setting that would do nothing is refused: whoever gave it expects something."""
    for name in (name for name, value in columns.items() if value is not None):
        held = "holds no file of records" if place.is_dir() else "is no file of records"
        raise InvalidInput(f"{name}_column (--{name}-column) names a column of a record, and {place} {held}")


def _check_file(place: Path, follow_links: bool, excludes: bool) -> None:
    if follow_links:
        raise InvalidInput(f"follow_links (--follow-links) is about links in a folder, and {place} is a file")
    if excludes:
        raise InvalidInput(f"exclude (--exclude) is about names in a folder, and {place} is a file")


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the files of a folder: how many, their characters scaled up from a sample, and the sample."""

    count: int
    chars: int
    sample: list[str]

    @classmethod
    def of(cls, count: int, sample: list[str]) -> _Part:
        return cls(count, round(sum(map(len, sample)) / len(sample) * count) if sample else 0, sample)


def _some(things: list[T], at_most: int) -> list[T]:
    return random.Random(0).sample(things, min(at_most, len(things)))


def _beginnings(texts: list[str]) -> tuple[str, ...]:
    return tuple(text[:SAMPLE_CHARS] for text in texts)


def _captions_of(picture: Path) -> tuple[Path, Path]:
    return picture.with_name(picture.name + ".txt"), picture.with_suffix(".txt")
