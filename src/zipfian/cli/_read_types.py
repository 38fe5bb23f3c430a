"""What every reader gives: documents, and what should have been one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from zipfian.encode import images

TEXT_SUFFIXES = frozenset({".txt", ".md", ".rst", ".html", ".htm", ".py"})
JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson"})
CSV_SUFFIXES = frozenset({".csv", ".tsv"})
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
PICTURE_SUFFIXES = images.SUFFIXES
RECORD_SUFFIXES = JSONL_SUFFIXES | CSV_SUFFIXES | PARQUET_SUFFIXES

IMAGE_FIELD = "image"
"""Metadata field with the path of a document's picture; the collection keeps it under this name too."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document as found: what `Collection.add` takes, and where it came from for messages."""

    id: str
    text: str | None
    metadata: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    image: str | None = None
    """Absolute path of its picture."""

    def to_dict(self, pictures: bool = True) -> dict[str, Any]:
        """The form that `Collection.add` takes; without `pictures` only the path of the picture is kept."""
        out: dict[str, Any] = {"id": self.id, "text": self.text, "metadata": self.metadata}
        if self.image is not None and pictures:
            out["image"] = self.image
        return out


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that should have been a document; `id` is the one it would have had, if that much is known."""

    where: str
    problem: str
    id: str | None = None


def suffix_of(name: str) -> str:
    """`.jpg` of `Photo.JPG`."""
    return os.path.splitext(name)[1].lower()


def is_picture(name: str) -> bool:
    """Whether a file's name is one of a picture; its content decides in the end."""
    return suffix_of(name) in PICTURE_SUFFIXES
