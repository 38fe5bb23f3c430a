"""Documents as a collection in a folder holds them, terms and vectors included, for whoever takes them over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from zipfian.collection.items import Item, waiting_nbytes
from zipfian.collection.legs import Leg
from zipfian.collection.opening import directory_of
from zipfian.collection.settings import Settings
from zipfian.errors import FingerprintMismatch
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot


@contextmanager
def stored_in(path: str | os.PathLike[str], legs: Mapping[str, Leg]) -> Iterator[Iterator[Item]]:
    """The documents of a folder's last commit, if its legs are among these: a term means nothing outside its leg."""
    with Snapshot.open(directory_of(path)) as snapshot:
        theirs = Settings.from_json(snapshot.settings, os.fspath(path)).legs
        for name, leg in theirs.items():
            if legs.get(name) != leg:
                raise FingerprintMismatch(
                    f"leg {name!r} of {os.fspath(path)} is not the one of this collection: create it with "
                    "legs=Collection.open(path).legs"
                )
        yield stored_items(snapshot, theirs)


def stored_items(snapshot: Snapshot, legs: Mapping[str, Leg]) -> Iterator[Item]:
    """Every live document, with its terms in stored form, in document order."""
    for segment in snapshot.segments:
        wanted = {n: segment.legs[n].to_batch() for n, leg in legs.items() if leg.kind != "words" and n in segment.legs}
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
