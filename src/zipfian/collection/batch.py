"""Checked documents in memory -> the batch that becomes a segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.fields import Field
from zipfian.collection.items import Item
from zipfian.collection.settings import Settings
from zipfian.types import FieldBatch, SegmentBatch
from zipfian.vocabulary import prune_rows


def make_batch(items: Sequence[Item], settings: Settings) -> SegmentBatch:
    """All fields of some documents."""
    fields = {name: field_batch(name, field, items) for name, field in settings.posting_fields.items()}
    return SegmentBatch(
        ids=[i.id for i in items],
        texts=[i.text for i in items],
        metadata=[i.metadata for i in items],
        fields=fields,
        vectors=_vectors(items),
    )


def field_batch(name: str, field: Field, items: Sequence[Item]) -> FieldBatch:
    """One field of some documents: words of their texts, or the terms they came with or were given by an encoder."""
    if field.kind == "words":
        return words_batch(field, (i.counts.get(name, i.text or "") for i in items))
    tf_type: Any = np.float32 if field.tf == "float32" else np.uint32
    rows = [i.terms.get(name) for i in items]
    sizes = np.array([0 if r is None else len(r[0]) for r in rows], np.int64)
    ids = np.concatenate([np.empty(0, np.int32), *(r[0] for r in rows if r is not None)])
    tf = np.concatenate([np.empty(0, tf_type), *(r[1] for r in rows if r is not None)]).astype(tf_type)
    terms, places = np.unique(ids, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return FieldBatch(indptr, terms.astype(np.int64), places.astype(np.int32), tf)


def words_batch(field: Field, texts: Iterable[str | Mapping[str, int]]) -> FieldBatch:
    """Words of texts, or words already counted, after the field's pruning; a word nobody kept leaves the dictionary."""
    batch = field.vocabulary.batch(texts)
    if not field.pruning.prunes_documents:
        return batch
    tf = batch.tf.astype(np.uint32)
    indptr, indices, kept_tf = prune_rows(batch.indptr, batch.indices, tf, field.pruning)
    used, places = np.unique(indices, return_inverse=True)
    terms = [str(batch.terms[i]) for i in used.tolist()]
    return FieldBatch(indptr, terms, places.astype(np.int32), kept_tf)


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
