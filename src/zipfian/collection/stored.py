"""Documents as a collection in a folder holds them, terms and vectors included, for whoever takes them over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from zipfian.collection.items import waiting_nbytes
from zipfian.collection.opening import directory_of
from zipfian.collection.settings import Settings
from zipfian.errors import FingerprintMismatch
from zipfian.fields.base import Field
from zipfian.fields.item import Item
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot


@contextmanager
def stored_in(path: str | os.PathLike[str], fields: Mapping[str, Field]) -> Iterator[Iterator[Item]]:
    """The documents of a folder's last commit, if its fields are among these: terms mean nothing elsewhere."""
    with Snapshot.open(directory_of(path)) as snapshot:
        theirs = Settings.from_json(snapshot.settings, os.fspath(path)).fields
        for name, field in theirs.items():
            if fields.get(name) != field:
                raise FingerprintMismatch(
                    f"field {name!r} of {os.fspath(path)} is not the one of this collection: create it with "
                    "fields=Collection.open(path).fields"
                )
        yield stored_items(snapshot, theirs)


def stored_items(snapshot: Snapshot, fields: Mapping[str, Field]) -> Iterator[Item]:
    """Every live document, with its terms in stored form, in document order."""
    for segment in snapshot.segments:
        wanted = {
            n: segment.fields[n].to_batch() for n, field in fields.items() if not field.lexical and n in segment.fields
        }
        for doc in np.flatnonzero(segment.live).tolist():
            terms = {}
            for name, batch in wanted.items():
                part = slice(int(batch.indptr[doc]), int(batch.indptr[doc + 1]))
                ids = np.asarray(batch.terms)[batch.indices[part]].astype(np.int32)
                terms[name] = (ids, np.asarray(batch.tf[part]))
            text, metadata = segment.docs.content(doc)
            item = Item(segment.docs.id(doc), text, terms, _vectors(segment, doc), metadata, 0)
            item.nbytes = waiting_nbytes(item)
            yield item


def _vectors(segment: SegmentReader, doc: int) -> dict[str, Any]:
    if segment.vectors is None:
        return {}
    at = np.array([doc])
    return {n: segment.vectors.rows(n, at)[0] for n in segment.vectors.dims if segment.vectors.present(n)[doc]}
