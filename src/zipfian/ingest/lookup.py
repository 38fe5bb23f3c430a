"""Which items of a source a collection has already: asked many at a time, since one alone takes a look into every
segment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from zipfian.collection.items import check_id
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.ingest.items import BadItem, FoundDocument

if TYPE_CHECKING:
    from zipfian.collection import Collection

Found = FoundDocument | BadItem

LOOKUP = 256
LOOKUP_CHARS = 60_000
"""Items whose ids are looked up together, and about so many characters of text: nobody waits long for the first."""


def looked_up(collection: Collection, items: Iterable[Found], prefix: str) -> Iterator[tuple[Found, bool]]:
    """The items in order, and whether the collection has a document of that id."""
    for some in _together(items):
        ids = ["" if isinstance(item, BadItem) else _usable(prefix + item.id) for item in some]
        found = iter(collection.present([doc_id for doc_id in ids if doc_id]))
        yield from ((item, bool(doc_id) and next(found)) for item, doc_id in zip(some, ids, strict=True))


def _usable(doc_id: str) -> str:
    """An id that a document can have; '' for any other."""
    try:
        return check_id(doc_id)
    except (InvalidInput, LimitExceeded):
        return ""


def _together(items: Iterable[Found]) -> Iterator[list[Found]]:
    """Some items at a time; those before an error come before it."""
    some: list[Found] = []
    chars = 0
    try:
        for item in items:
            some.append(item)
            chars += 0 if isinstance(item, BadItem) else len(item.text or "")
            if len(some) >= LOOKUP or chars >= LOOKUP_CHARS:
                yield some
                some, chars = [], 0
    except Exception:
        yield some
        raise
    yield some
