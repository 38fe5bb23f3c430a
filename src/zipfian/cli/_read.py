"""Finding and reading documents: a folder of texts and pictures, a file of records, or a single file.

Every reader yields `Document`s, or `Bad` for what could not be read; the caller decides whether that is fatal.
Nothing is dropped silently.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zipfian.cli._output import note
from zipfian.cli._read_folder import Found, find, read_folder, read_picture, read_text
from zipfian.cli._read_lines import numbered_lines
from zipfian.cli._read_records import Fields, read_records
from zipfian.cli._read_types import (
    JSONL_SUFFIXES,
    PICTURE_SUFFIXES,
    RECORD_SUFFIXES,
    TEXT_SUFFIXES,
    Bad,
    Document,
)
from zipfian.errors import IndexNotFound, InvalidInput

SAMPLE = 1_000
"""Records looked at to judge what a file holds."""
SAMPLE_TEXTS = 100
SAMPLE_CHARS = 4_000
"""Text files opened to judge how long the texts of a folder are, and what is kept of each."""

__all__ = ["Bad", "Document", "Source", "Survey", "open_source", "read", "source_of"]


@dataclass(frozen=True, slots=True)
class Survey:
    """What a source holds, judged before it is read."""

    items: int | None
    """Documents; None where only reading would tell."""
    texts: int
    """Documents that have a text, captions included; like `pictures` scaled up from a sample where there is one."""
    pictures: int
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
    """Something that can be read."""

    path: Path
    fields: Fields
    found: Found | None = None
    """The files of a folder."""

    def read(self) -> Iterator[Document | Bad]:
        """Its documents in a stable order."""
        if self.found is not None:
            return read_folder(self.path, self.found)
        suffix = self.path.suffix.lower()
        if suffix in RECORD_SUFFIXES:
            return read_records(self.path, self.fields)
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
        sample = [d.text for p in some if isinstance(d := read_text(p, p.name), Document) and d.text]
        others = ", ".join(f"{count:,} {end}" for end, count in found.others.most_common(4))
        if len(found.others) > 4:
            others += " and more"
        captions = len(found.captions)
        texts, items = len(found.texts) + captions, len(found.texts) + len(found.pictures)
        chars = round(sum(map(len, sample)) / len(sample) * texts) if sample else 0
        return Survey(items, texts, len(found.pictures), captions, chars, _beginnings(sample), others)

    def _records(self) -> Survey:
        head = list(itertools.islice(self.read(), SAMPLE))
        good = [d for d in head if isinstance(d, Document)]
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
    path: Path, *, id_field: str | None = None, text_field: str | None = None, image_field: str | None = None,
    follow_links: bool = False,
) -> Source:  # fmt: skip
    """A folder, a file of records or a single file; an error at once where it is not there or of no known kind.

    The fields apply to records. Without `id_field`, `id` and `_id` are tried, then the path of the picture, then
    file:line; without `text_field`, `text` and `caption`; the picture is in `image`. Links in a folder are
    followed only with `follow_links`.
    """
    fields = Fields(id_field, text_field, image_field)
    if path.is_dir():
        return Source(path, fields, find(path, follow_links=follow_links))
    if not path.exists():
        raise IndexNotFound(f"{path}: no such file or folder")
    known = TEXT_SUFFIXES | RECORD_SUFFIXES | PICTURE_SUFFIXES
    if path.suffix.lower() not in known:
        raise InvalidInput(
            f"{path}: not a kind of file that can be read; give a folder or one of {', '.join(sorted(known))}"
        )
    return Source(path, fields)


def source_of(args: argparse.Namespace) -> Source:
    """The source that a command was given; links that are not followed are counted aloud."""
    source = open_source(
        args.source, id_field=args.id_field, text_field=args.text_field, image_field=args.image_field,
        follow_links=args.follow_links,
    )  # fmt: skip
    if source.found is not None and source.found.links:
        note(f"links that were not followed in {args.source}: {source.found.links:,}; --follow-links follows them")
    return source


def read(path: Path, *, id_field: str | None = None, text_field: str | None = None) -> Iterator[Document | Bad]:
    """The documents of a source in a stable order."""
    return open_source(path, id_field=id_field, text_field=text_field).read()


def _beginnings(texts: list[str]) -> tuple[str, ...]:
    return tuple(text[:SAMPLE_CHARS] for text in texts)


def _captions_of(picture: Path) -> tuple[Path, Path]:
    return picture.with_name(picture.name + ".txt"), picture.with_suffix(".txt")
