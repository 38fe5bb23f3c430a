"""Checked documents in memory -> the batch that becomes a segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zipfian.collection.settings import Settings
from zipfian.fields.item import Item, passages_of
from zipfian.types import SegmentBatch


def make_batch(items: Sequence[Item], settings: Settings) -> SegmentBatch:
    """All fields of some documents."""
    fields = {name: field.batch(name, items) for name, field in settings.posting_fields.items()}
    made = {field.stored_as(name): name for name, field in settings.vector_fields.items()}
    names = dict.fromkeys(name for item in items for name in item.vectors) | dict.fromkeys(made)
    vectors = {name: vector_rows(name, made.get(name, ""), items) for name in names}
    passages = {name: passages_of(items, made[name]) for name in made}
    return SegmentBatch(
        ids=[i.id for i in items],
        texts=[i.text for i in items],
        metadata=[i.metadata for i in items],
        fields=fields,
        vectors={name: rows for name, rows in vectors.items() if rows is not None},
        vector_passages={name: found for name, found in passages.items() if found is not None},
    )


def vector_rows(name: str, field: str, items: Sequence[Item]) -> npt.NDArray[np.float32] | None:
    """The vectors of a name of some documents, or of their passages in the field that makes them; a row of NaN where
    there is none, None where nobody has one."""
    found = [row.vectors.get(name) for item in items for row in item.rows(field)]
    dim = next((len(vector) for vector in found if vector is not None), None)
    if dim is None:
        return None
    out = np.full((len(found), dim), np.nan, np.float32)
    for i, vector in enumerate(found):
        if vector is not None:
            out[i] = vector
    return out
