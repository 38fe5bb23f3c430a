"""Partial updates: what is given takes the place of what was stored, and the rest of a document stays as it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zipfian.collection.items import check_id, waiting_nbytes
from zipfian.collection.trust import IMAGE_COLUMN
from zipfian.errors import InvalidInput
from zipfian.fields.base import Field, VectorField
from zipfian.fields.item import Item

OF_PICTURE = "_image_"
"""How columns begin that say what a picture was."""


def changes(items: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Updates one by one, each with a usable id and something to change."""
    if isinstance(items, Mapping) or not isinstance(items, Iterable):
        raise InvalidInput("update takes an iterable of documents; put a single document into a list")
    for raw in items:
        if not isinstance(raw, Mapping) or "id" not in raw:
            raise InvalidInput("an update is a mapping with an 'id' and what is to change: text, metadata, ...")
        check_id(raw["id"])
        yield raw


def not_there(doc_id: str) -> InvalidInput:
    """The error that there is nothing to update."""
    return InvalidInput(f"document {doc_id!r} is not in the collection: add it, or use upsert with the whole document")


def new_metadata(old: Mapping[str, Any], given: Mapping[str, Any] | None, picture: bool) -> dict[str, Any]:
    """Columns given replace those of the same name, None takes one away; with another `picture` the old one's go."""
    kept = {n: v for n, v in old.items() if not (picture and (n == IMAGE_COLUMN or n.startswith(OF_PICTURE)))}
    return {name: value for name, value in {**kept, **(given or {})}.items() if value is not None}


def changed_inputs(raw: Mapping[str, Any]) -> frozenset[str]:
    """What of a document that fields read is another one: `text`, `image`."""
    metadata = raw.get("metadata")
    named = isinstance(metadata, Mapping) and IMAGE_COLUMN in metadata
    found = {"text": "text" in raw, "image": raw.get("image") is not None or named}
    return frozenset(name for name, changed in found.items() if changed)


def updated(old: Item, new: Item, changed: frozenset[str], fields: Mapping[str, Field]) -> Item:
    """The stored document `old` with what `new` brings; fields that read something `changed` are left to be made."""
    stale = {name: field for name, field in fields.items() if field.reads in changed}
    vectors = {field.stored_as(name) for name, field in stale.items() if isinstance(field, VectorField)}
    item = dataclasses.replace(
        old,
        text=new.text if "text" in changed else old.text,
        terms={name: value for name, value in old.terms.items() if name not in stale} | new.terms,
        vectors={name: value for name, value in old.vectors.items() if name not in vectors} | new.vectors,
        metadata=new_metadata(old.metadata, new.metadata, "image" in changed),
        passages={name: rows for name, rows in old.passages.items() if name not in stale},
        image=new.image,
        counts=new.counts if "text" in changed else old.counts,
        language=None if "text" in changed else old.language,
        clipped=new.clipped,
        zeroed=new.zeroed,
    )
    item.nbytes = waiting_nbytes(item)
    return item
