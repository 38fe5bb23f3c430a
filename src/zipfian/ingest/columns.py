"""Which column of a record holds what: named by the caller, or known by a usual name in whatever case."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.ingest.items import IMAGE_COLUMN
from zipfian.limits import MAX_COLUMNS, MAX_NAME_CHARS

ID_COLUMNS = ("id", "_id", "uuid", "doc_id", "docid")
TEXT_COLUMNS = (
    "text", "body", "content", "contents", "description", "abstract", "summary", "message", "comment", "review",
    "caption", "captions",
)  # fmt: skip
TITLE_COLUMNS = ("title", "subject", "headline")
NAME_COLUMNS = (*TITLE_COLUMNS, "name")
"""Tried in this order where no column is named; a title is put before the text, and is the text where there is none."""
COLUMNS_SHOWN = 20
"""Names of columns in a message."""
NAME_IT = "name the column (text_column, --text-column)"
"""In messages a setting stands as Python and as the command line know it."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; None: the usual names."""

    id: str | None = None
    text: str | None = None
    image: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Names under which the text may be."""
        return (self.text,) if self.text else TEXT_COLUMNS

    @property
    def picture(self) -> str:
        """Name under which the picture may be."""
        return self.image or IMAGE_COLUMN

    def roles(self, present: Iterable[str]) -> Roles:
        """Which of the columns of a record, or of a table, hold what."""
        return _roles(self, tuple(present))


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of one record or table that are more than metadata, as they are spelled there."""

    id: str | None
    texts: tuple[str, ...]
    """Where the text may be: the first that holds one."""
    title: str | None
    """Searched together with the text."""
    names: tuple[str, ...]
    """What is searched where there is no text."""
    image: str | None

    @property
    def searched(self) -> bool:
        """Whether anything in it can be found."""
        return bool(self.texts or self.names or self.image)

    @property
    def plain(self) -> frozenset[str]:
        """Columns whose values stay texts, whatever they look like."""
        return frozenset(name for name in (self.id, *self.texts, self.title, *self.names, self.image) if name)


@functools.lru_cache(maxsize=16)
def _roles(columns: Columns, present: tuple[str, ...]) -> Roles:
    """Remembered: the records of a file mostly have the same columns."""
    usual: dict[str, str] = {}
    for name in present:
        usual.setdefault(name.strip().lower(), name)
        usual[name] = name  # as it is written goes before what only looks like it

    def of(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(usual[name] for name in names if name in usual))

    return Roles(
        id=next(iter(of([columns.id] if columns.id else ID_COLUMNS)), None),
        texts=of(columns.texts),
        title=next(iter(of(TITLE_COLUMNS)), None),
        names=of(NAME_COLUMNS) if columns.text is None else (),
        image=next(iter(of([columns.picture])), None),
    )


def check_columns(path: Path, present: list[str], columns: Columns) -> Roles:
    """The roles in a table; one that has no column to search, or too many columns, is refused at once."""
    if len(present) > MAX_COLUMNS:
        raise LimitExceeded(f"{path}: {len(present):,} columns, more than the {MAX_COLUMNS:,} of a collection")
    roles = columns.roles(present)
    if roles.searched:
        return roles
    more = f" and {len(present) - COLUMNS_SHOWN:,} more" if len(present) > COLUMNS_SHOWN else ""
    found = ", ".join(name[:MAX_NAME_CHARS] for name in present[:COLUMNS_SHOWN]) + more or "nothing"
    wanted = repr(columns.text) if columns.text else "such as 'text', 'body', 'description', 'title' or 'caption'"
    raise InvalidInput(
        f"{path}: no column {wanted}, and no {columns.picture!r} (found: {found}); name one (text_column, "
        "--text-column; image_column, --image-column)"
    )
