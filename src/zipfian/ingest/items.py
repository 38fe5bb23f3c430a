"""What every reader gives: documents (or `BadItem`, what should have been one), and kinds of files by their names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from zipfian.collection.following import BadItem
from zipfian.encode import images

__all__ = ["BadItem", "FoundDocument"]

TEXT_SUFFIXES = frozenset({".txt", ".md", ".rst", ".html", ".htm", ".py"})
JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson"})
CSV_SUFFIXES = frozenset({".csv", ".tsv"})
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
DOCUMENT_SUFFIXES = frozenset({".pdf", ".docx"})
PICTURE_SUFFIXES = images.SUFFIXES
RECORD_SUFFIXES = JSONL_SUFFIXES | CSV_SUFFIXES | PARQUET_SUFFIXES

IMAGE_COLUMN = "image"
"""Metadata column with the path of a document's picture; the collection keeps it under this name too."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """One document as a source has it.

    Examples
    --------
    >>> FoundDocument("a.txt", "Cats sleep.", {"type": "txt"}).to_dict()
    {'id': 'a.txt', 'text': 'Cats sleep.', 'metadata': {'type': 'txt'}}
    """

    id: str
    """Its path below the source, or what the record says; of a record in a folder `path:id`."""
    text: str | None
    """The text or caption; None for a picture without one."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The other columns of a record; path and type of a file."""
    where: str = ""
    """File, and line of a record, for messages."""
    image: str | None = None
    """Absolute path of its picture."""
    photo: bool = False
    """Whether the picture is itself the document, so that what the camera wrote into it are its metadata."""
    guessed: str | None = None
    """The file it was read from, where that is no UTF-8 and was taken for Windows-1252."""

    def to_dict(self, pictures: bool = True) -> dict[str, Any]:
        """The form that `Collection.add` takes; without `pictures` only the path of the picture is kept."""
        out: dict[str, Any] = {"id": self.id, "text": self.text, "metadata": self.metadata}
        if self.image is not None and pictures:
            out["image"] = self.image
        return out


def suffix_of(name: str) -> str:
    """`.jpg` of `Photo.JPG`."""
    return os.path.splitext(name)[1].lower()


def is_picture(name: str) -> bool:
    """Whether a file's name is one of a picture; its content decides in the end."""
    return suffix_of(name) in PICTURE_SUFFIXES
