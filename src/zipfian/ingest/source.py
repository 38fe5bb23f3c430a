"""Finding and reading documents: a folder of texts and pictures, a file of records, or a single file.

Every reader yields `FoundDocument`s, or `BadItem` for what could not be read; the caller decides whether that is fatal.
Nothing is dropped silently.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zipfian.errors import IndexNotFound, InvalidInput, shown
from zipfian.ingest.folder import Found, find, read_folder, read_picture, read_text
from zipfian.ingest.items import (
    JSONL_SUFFIXES,
    PICTURE_SUFFIXES,
    RECORD_SUFFIXES,
    TEXT_SUFFIXES,
    BadItem,
    FoundDocument,
)
from zipfian.ingest.lines import numbered_lines
from zipfian.ingest.records import Columns, read_records

SAMPLE = 1_000
"""Records looked at to judge what a file holds."""
SAMPLE_TEXTS = 100
SAMPLE_CHARS = 4_000
"""Text files opened to judge how long the texts of a folder are, and what is kept of each."""

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
    b no text in column 'text' or 'caption', and no 'image'; name the column (text_column, --text-column)
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
        texts, pictures = (" ".join(sorted(suffixes)) for suffixes in (TEXT_SUFFIXES, PICTURE_SUFFIXES))
        held = f" It holds {others}." if others else ""
        return InvalidInput(
            f"{self.path}: no text ({texts}) and no picture ({pictures}) in it that could be indexed.{held}"
        )

    def read(self) -> Iterator[FoundDocument | BadItem]:
        """Its documents in a stable order."""
        if self.found is not None:
            return read_folder(self.path, self.found)
        suffix = self.path.suffix.lower()
        if suffix in RECORD_SUFFIXES:
            return read_records(self.path, self.columns)
        if suffix in PICTURE_SUFFIXES:
            beside = [p for p in _captions_of(self.path) if p.is_file()]
            return iter([read_picture(self.path, self.path.name, beside[0] if beside else None)])
        return iter([read_text(self.path, self.path.name)])

    def survey(self) -> Survey:
        """What it holds; of a file of records the beginning is read, of a folder the names and some texts."""
        return self._records() if self.found is None else self._folder(self.found)

    def _folder(self, found: Found) -> Survey:
        chosen = [*found.texts, *found.captions.values()]
        some = random.Random(0).sample(chosen, min(SAMPLE_TEXTS, len(chosen)))
        sample = [d.text for p in some if isinstance(d := read_text(p, p.name), FoundDocument) and d.text]
        others = ", ".join(f"{count:,} {end}" for end, count in found.others.most_common(4))
        if len(found.others) > 4:
            others += " and more"
        captions = len(found.captions)
        texts, items = len(found.texts) + captions, len(found.texts) + len(found.pictures)
        chars = round(sum(map(len, sample)) / len(sample) * texts) if sample else 0
        return Survey(items, texts, len(found.pictures), captions, chars, _beginnings(sample), others)

    def _records(self) -> Survey:
        head = list(itertools.islice(self.read(), SAMPLE))
        good = [d for d in head if isinstance(d, FoundDocument)]
        items = len(head) if len(head) < SAMPLE else self._count()
        scale = (items or len(head)) / len(head) if head else 1.0
        texts = [d.text for d in good if d.text]
        pictures = sum(d.image is not None for d in good)
        captions = sum(d.image is not None and bool(d.text) for d in good)
        sample = random.Random(0).sample(texts, min(SAMPLE_TEXTS, len(texts)))
        return Survey(
            items, round(len(texts) * scale), round(pictures * scale), round(captions * scale),
            round(sum(map(len, texts)) * scale), _beginnings(sample),
        )  # fmt: skip

    def _count(self) -> int | None:
        """Records of a long file, where counting lines tells."""
        if self.path.suffix.lower() not in JSONL_SUFFIXES:
            return None
        return sum(1 for _, line in numbered_lines(self.path) if line is None or line.strip())


def open_source(
    path: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    follow_links: bool = False,
) -> Source:
    """A folder of texts and pictures, a file of records (JSONL, CSV, Parquet), or a single text or picture.

    Parameters
    ----------
    path
        Where it is. A folder is listed at once; files are opened as they are read.
    id_column
        Field of a record that holds the id. By default `id` and `_id` are tried, then the path of the picture, then
        file:line.
    text_column
        Field that holds the text; by default `text`, then `caption` and `captions`.
    image_column
        Field that holds the path of a picture, which starts at the folder of the file; by default `image`.
    follow_links
        Symbolic links in a folder may lead out of it. They are counted, and followed only if this is true.

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
    if place.exists():
        _check_fitting(place, {"id": id_column, "text": text_column, "image": image_column}, follow_links)
    if place.is_dir():
        return Source(place, columns, find(place, follow_links=follow_links))
    if not place.exists():
        raise IndexNotFound(f"{place}: no such file or folder")
    known = TEXT_SUFFIXES | RECORD_SUFFIXES | PICTURE_SUFFIXES
    if place.suffix.lower() not in known:
        raise InvalidInput(
            f"{place}: not a kind of file that can be read; give a folder or one of {', '.join(sorted(known))}"
        )
    return Source(place, columns)


def _check_fitting(place: Path, columns: dict[str, str | None], follow_links: bool) -> None:
    """A setting that would do nothing is refused: whoever gave it expects something."""
    if place.suffix.lower() not in RECORD_SUFFIXES or place.is_dir():
        for name in (name for name, value in columns.items() if value is not None):
            raise InvalidInput(
                f"{name}_column (--{name}-column) names a column of a record, and {place} is no file of records"
            )
    if follow_links and place.is_file():
        raise InvalidInput(f"follow_links (--follow-links) is about links in a folder, and {place} is a file")


def _beginnings(texts: list[str]) -> tuple[str, ...]:
    return tuple(text[:SAMPLE_CHARS] for text in texts)


def _captions_of(picture: Path) -> tuple[Path, Path]:
    return picture.with_name(picture.name + ".txt"), picture.with_suffix(".txt")
