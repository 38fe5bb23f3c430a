"""Checked documents in memory -> the batch that becomes a segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zipfian.collection.settings import Settings
from zipfian.fields.item import Item
from zipfian.types import SegmentBatch


def make_batch(items: Sequence[Item], settings: Settings) -> SegmentBatch:
    """All fields of some documents."""
    fields = {name: field.batch(name, items) for name, field in settings.posting_fields.items()}
    return SegmentBatch(
        ids=[i.id for i in items],
        texts=[i.text for i in items],
        metadata=[i.metadata for i in items],
        fields=fields,
        vectors=_vectors(items),
    )


def _vectors(items: Sequence[Item]) -> dict[str, npt.NDArray[np.float32]]:
    """Pooled vectors by name; a row of NaN where a document has none."""
    dims = {name: len(vector) for item in items for name, vector in item.vectors.items()}
    out: dict[str, npt.NDArray[np.float32]] = {}
    for name, dim in dims.items():
        rows = np.full((len(items), dim), np.nan, np.float32)
        for i, item in enumerate(items):
            if name in item.vectors:
                rows[i] = item.vectors[name]
        out[name] = rows
    return out
