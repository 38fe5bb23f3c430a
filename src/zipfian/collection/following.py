"""`Collection.sync`: a collection that follows a folder or file; what a run did. `zipfian.ingest` does the work."""

from __future__ import annotations

import dataclasses
import importlib
import os
from dataclasses import dataclass
from typing import Any

INGEST = "zipfian.ingest"
"""By name only, like the engines: reading sources is a later stage than this one."""


@dataclass(frozen=True, slots=True)
class BadItem:
    """Something that should have been a document and could not be read.

    Parameters
    ----------
    where
        The file, and the line in it where there is one.
    problem
        What is wrong with it.
    id
        The id it would have had, if that much is known; of a folder, or of a file of records, its path in the source.
    rest
        Whether it is a folder or a file of which more was not read: what the collection has of that is not gone.

    Examples
    --------
    >>> print(BadItem("photos/cat.jpg", "an empty file").problem)
    an empty file
    """

    where: str
    problem: str
    id: str | None = None
    rest: bool = False


@dataclass(slots=True)
class Synced:
    """What one run of `Collection.sync` did, in documents.

    Examples
    --------
    >>> print(Synced(added=3, unchanged=1_200))
    3 added, 1,200 unchanged
    """

    added: int = 0
    """New ones."""
    updated: int = 0
    """Replaced, because text, metadata or picture had changed."""
    removed: int = 0
    """Gone from the source, and from the collection."""
    unchanged: int = 0
    """Left alone."""
    empty: int = 0
    """Without any text, so left out."""
    uncaptioned: int = 0
    """Pictures without a caption where no field looks at pictures, so left out."""
    commits: int = 0
    """Times that changes were made durable."""
    windows_1252: int = 0
    """Files that are no UTF-8 and were read as Windows-1252."""
    bad: list[BadItem] = dataclasses.field(default_factory=list)
    """What could not be read and was skipped."""
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    """Values of metadata that do not fit the type of their column, counted by column; their documents are in."""

    def __str__(self) -> str:
        parts = [f"{n:,} {name}" for name in ("added", "updated", "removed", "unchanged") if (n := getattr(self, name))]
        if self.empty:
            parts.append(f"{self.empty:,} empty")
        if self.uncaptioned:
            parts.append(f"{self.uncaptioned:,} pictures without captions left out")
        if self.bad:
            parts.append(f"{len(self.bad):,} skipped as unreadable")
        if self.windows_1252:
            parts.append(f"{self.windows_1252:,} file{'s' * (self.windows_1252 != 1)} read as Windows-1252")
        if self.left_out:
            names = ", ".join(f"{name} ({count:,})" for name, count in sorted(self.left_out.items()))
            parts.append(f"values left out that do not fit their column: {names}")
        return ", ".join(parts) or "no documents found"


def follow(collection: Any, source: str | os.PathLike[str] | Any, options: dict[str, Any]) -> Synced:
    """Make `collection`, in a folder or a cluster, follow `source`; `options` are those of `zipfian.ingest.sync`."""
    done: Synced = importlib.import_module(INGEST).sync(collection, source, **options)
    return done
