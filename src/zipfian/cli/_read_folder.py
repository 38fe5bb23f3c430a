"""A folder as documents: one for every text file and every picture, whose caption is in a text file beside it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.cli._html import html_to_text
from zipfian.cli._read_types import (
    IMAGE_FIELD,
    TEXT_SUFFIXES,
    Bad,
    Document,
    is_picture,
    suffix_of,
)
from zipfian.limits import MAX_IMAGE_BYTES, MAX_TEXT_CHARS

SIDECAR = ".txt"
"""`photo.jpg.txt` or `photo.txt` beside `photo.jpg` holds its caption and is no document of its own."""


@dataclass(slots=True)
class Found:
    """The names in a folder, before any file is opened."""

    texts: list[Path] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    captions: dict[Path, Path] = field(default_factory=dict)
    """Picture to the text file beside it."""
    others: Counter[str] = field(default_factory=Counter)
    """Files of no kind that is read, by the end of their names."""


def find(folder: Path) -> Found:
    """Everything under a folder, in order; hidden entries are left out and links to folders not followed."""
    found = Found()
    for base, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        shown = sorted(name for name in names if not name.startswith("."))
        sidecars = _sidecars(shown)
        for name in shown:
            path = Path(base, name)
            if is_picture(name):
                found.pictures.append(path)
                if name in sidecars:
                    found.captions[path] = Path(base, sidecars[name])
            elif suffix_of(name) in TEXT_SUFFIXES:
                if name not in sidecars.values():
                    found.texts.append(path)
            else:
                found.others[suffix_of(name) or name] += 1
    return found


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


def _raise(error: OSError) -> None:
    raise error


def read_folder(folder: Path, found: Found) -> Iterator[Document | Bad]:
    """The documents of a folder, in the order of their names."""
    pictures = set(found.pictures)
    for path in sorted([*found.texts, *found.pictures], key=lambda p: p.relative_to(folder).parts):
        doc_id = path.relative_to(folder).as_posix()
        if path in pictures:
            yield read_picture(path, doc_id, found.captions.get(path))
        else:
            yield read_text(path, doc_id)


def read_text(path: Path, doc_id: str) -> Document | Bad:
    """One text file as one document; its path below the source is the id."""
    text = _content(path, doc_id)
    if isinstance(text, Bad):
        return text
    metadata: dict[str, Any] = {"path": doc_id, "type": suffix_of(path.name).lstrip(".")}
    if suffix_of(path.name) in {".html", ".htm"}:
        title, text = html_to_text(text)
        if title:
            metadata["title"] = title
    if len(text) > MAX_TEXT_CHARS:
        return Bad(str(path), f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}", doc_id)
    return Document(doc_id, text.replace("\r\n", "\n"), metadata, str(path))


def read_picture(path: Path, doc_id: str, caption: Path | None = None) -> Document | Bad:
    """One picture as one document; it is opened when it is encoded, only its size is looked at here."""
    problem = picture_problem(path)
    if problem:
        return Bad(str(path), problem, doc_id)
    text = "" if caption is None else _content(caption, doc_id)
    if isinstance(text, Bad):
        return text
    image = os.path.abspath(path)
    metadata: dict[str, Any] = {"path": doc_id, "type": suffix_of(path.name).lstrip("."), IMAGE_FIELD: image}
    return Document(doc_id, text.strip() or None, metadata, str(path), image)


def picture_problem(path: Path) -> str:
    """What can be said against a picture file without opening it; nothing: ''."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            return "not a regular file"
    except OSError as error:
        return error.strerror or str(error)
    return f"{size:,} bytes, more than the limit of {MAX_IMAGE_BYTES:,}" if size > MAX_IMAGE_BYTES else ""


def _content(path: Path, doc_id: str) -> str | Bad:
    try:
        size = path.stat().st_size
        if not path.is_file():
            return Bad(str(path), "not a regular file", doc_id)
        if size > limits.MAX_READ_BYTES:
            return Bad(str(path), f"{size:,} bytes, more than the limit of one text", doc_id)
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Bad(str(path), f"not UTF-8 (byte {error.start:,})", doc_id)
    except OSError as error:
        return Bad(str(path), error.strerror or str(error), doc_id)
    if "\x00" in text:
        return Bad(str(path), "contains NUL characters, so it is not a text file", doc_id)
    return text
