"""What lies in a folder, and its texts and pictures as documents; a picture's caption is in a text file beside it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian.errors import LimitExceeded
from zipfian.ingest.encodings import WINDOWS_1252, encoding_of, in_blocks
from zipfian.ingest.exclude import DEFAULT_EXCLUDES, excluded_by
from zipfian.ingest.frontmatter import split
from zipfian.ingest.html import html_to_text
from zipfian.ingest.items import (
    DOCUMENT_SUFFIXES,
    IMAGE_COLUMN,
    RECORD_SUFFIXES,
    TEXT_SUFFIXES,
    BadItem,
    FoundDocument,
    is_picture,
    suffix_of,
)
from zipfian.ingest.lines import problem_of
from zipfian.limits import MAX_IMAGE_BYTES, MAX_READ_BYTES, MAX_TEXT_CHARS
from zipfian.storage.regular import look, read_regular

MARKDOWN_SUFFIXES = frozenset({".md"})
"""Texts that may begin with front matter."""
SIDECAR = ".txt"
"""`photo.jpg.txt` or `photo.txt` beside `photo.jpg` holds its caption and is no document of its own."""


@dataclass(slots=True)
class Found:
    """The names in a folder, before any file is opened."""

    texts: list[Path] = field(default_factory=list)
    documents: list[Path] = field(default_factory=list)
    """PDF and Word files."""
    records: list[Path] = field(default_factory=list)
    """Files of records: many documents each."""
    pictures: list[Path] = field(default_factory=list)
    captions: dict[Path, Path] = field(default_factory=dict)
    """Picture to the text file beside it."""
    others: Counter[str] = field(default_factory=Counter)
    """Files of no kind that is read, by the end of their names."""
    links: int = 0
    """Symbolic links that were not followed."""
    excluded: Counter[str] = field(default_factory=Counter)
    """What was left out because of its name, by the pattern that it matches."""
    bad: list[BadItem] = field(default_factory=list)
    """Folders that could not be listed."""


def find(folder: Path, *, follow_links: bool = False, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> Found:
    """Everything under a folder, in order, but what a pattern of `exclude` matches.

    Links lead out of the folder, or round in circles. They are counted; with `follow_links` they are followed, and each
    folder is entered once however many links lead to it.
    """
    found = Found()
    entered = {_identity(folder)}

    def listing_failed(error: OSError) -> None:
        if error.filename is None or Path(error.filename) == folder:
            raise error
        inside = Path(error.filename).relative_to(folder).as_posix()
        problem = f"the folder cannot be listed ({error.strerror})"
        found.bad.append(BadItem(str(error.filename), problem, inside, rest=True))

    def wanted(base: str, name: str) -> bool:
        below = os.path.relpath(os.path.join(base, name), folder).replace(os.sep, "/")
        if (pattern := excluded_by(exclude, below)) is not None:
            found.excluded[pattern] += 1
            return False
        if not follow_links and os.path.islink(os.path.join(base, name)):
            found.links += 1
            return False
        return True

    def first_time(base: str, name: str) -> bool:
        identity = _identity(Path(base, name))
        if identity in entered:
            return False
        entered.add(identity)
        return True

    for base, folders, names in os.walk(folder, onerror=listing_failed, followlinks=follow_links):
        folders[:] = sorted(name for name in folders if wanted(base, name))
        if follow_links:
            folders[:] = [name for name in folders if first_time(base, name)]
        shown = sorted(name for name in names if wanted(base, name))
        sidecars = _sidecars(shown)
        captions = set(sidecars.values())
        for name in shown:
            path = Path(base, name)
            if is_picture(name):
                found.pictures.append(path)
                if name in sidecars:
                    found.captions[path] = Path(base, sidecars[name])
            elif suffix_of(name) in TEXT_SUFFIXES:
                if name not in captions:
                    found.texts.append(path)
            elif suffix_of(name) in DOCUMENT_SUFFIXES:
                found.documents.append(path)
            elif suffix_of(name) in RECORD_SUFFIXES:
                found.records.append(path)
            else:
                found.others[suffix_of(name) or name] += 1
    return found


def _identity(folder: Path) -> tuple[int, int] | str:
    try:
        there = folder.stat()
    except OSError:
        return str(folder)  # the walk says what is wrong with it
    return there.st_dev, there.st_ino


def _sidecars(names: list[str]) -> dict[str, str]:
    """Picture to caption file, among the names of one folder; the longer name is the surer one."""
    texts = {name for name in names if suffix_of(name) == SIDECAR}
    out: dict[str, str] = {}
    for name in names:
        if is_picture(name):
            for candidate in (name + SIDECAR, os.path.splitext(name)[0] + SIDECAR):
                if candidate in texts:
                    out[name] = candidate
                    break
    return out


def read_text(path: Path, doc_id: str) -> FoundDocument | BadItem:
    """One text file as one document; its path below the source is the id."""
    content = _content(path, doc_id)
    if isinstance(content, BadItem):
        return content
    text = content.text
    metadata: dict[str, Any] = {"path": doc_id, "type": suffix_of(path.name).lstrip(".")}
    if suffix_of(path.name) in {".html", ".htm"}:
        try:
            title, text = html_to_text(text)
        except LimitExceeded as error:
            return BadItem(str(path), str(error), doc_id)
        if title:
            metadata["title"] = title
    text = text.replace("\r\n", "\n")
    if suffix_of(path.name) in MARKDOWN_SUFFIXES:
        said, text = split(text)
        metadata |= said
        if isinstance(said.get("title"), str):
            text = f"{said['title']}\n\n{text}"  # as in a record: so that it can be found
    return FoundDocument(doc_id, text, metadata, str(path), guessed=content.guessed)


def read_picture(path: Path, doc_id: str, caption: Path | None = None) -> FoundDocument | BadItem:
    """One picture as one document; it is opened when it is encoded, only its size is looked at here."""
    problem = picture_problem(path)
    if problem:
        return BadItem(str(path), problem, doc_id)
    said = _Content("") if caption is None else _content(caption, doc_id)
    if isinstance(said, BadItem):
        return said
    image = os.path.abspath(path)
    metadata: dict[str, Any] = {"path": doc_id, "type": suffix_of(path.name).lstrip("."), IMAGE_COLUMN: image}
    text = said.text.strip() or None
    return FoundDocument(doc_id, text, metadata, str(path), image, photo=True, guessed=said.guessed)


def picture_problem(path: Path) -> str:
    """What can be said against a picture file without opening it; nothing: ''."""
    try:
        look(path, MAX_IMAGE_BYTES)
    except (OSError, LimitExceeded) as error:
        return problem_of(error, path)
    return ""


@dataclass(frozen=True, slots=True)
class _Content:
    """What a text file holds."""

    text: str
    guessed: str | None = None
    """The file, where it was taken for Windows-1252."""


def _content(path: Path, doc_id: str) -> _Content | BadItem:
    try:
        data = read_regular(path, MAX_READ_BYTES)
        encoding = encoding_of(lambda: in_blocks(data))
        text = data.decode(encoding)
    except (OSError, LimitExceeded, UnicodeDecodeError) as error:
        return BadItem(str(path), problem_of(error, path), doc_id)
    if "\x00" in text:
        return BadItem(str(path), "contains NUL characters, so it is not a text file", doc_id)
    if len(text) > MAX_TEXT_CHARS:
        return BadItem(str(path), f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    return _Content(text, str(path) if encoding == WINDOWS_1252 else None)
