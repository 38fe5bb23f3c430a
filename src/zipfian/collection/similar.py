"""Documents like one that is there: what it is made of becomes the query, and nothing is encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zipfian.collection.results import Results, without
from zipfian.collection.searcher import Searcher
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import Field
from zipfian.index.passages import rows_of
from zipfian.types import Terms

if TYPE_CHECKING:
    from zipfian.collection.collection import Collection

HEAVIEST = 128
"""Terms of the document that are looked for: the lighter ones change little and cost as much."""

LONGEST = 10_000
"""Characters of a text whose words are looked for."""


def similar(
    collection: Collection, doc_id: str, k: int, where: Mapping[str, Any] | None, offset: int, field: str | None
) -> Results:  # fmt: skip
    """The documents nearest to one of them, without itself."""
    if doc_id not in collection:
        raise InvalidInput(f"there is no document {shown(doc_id)} to look for others like it")
    fields = collection.fields
    if field is not None and field not in fields:
        raise InvalidInput(f"there is no field {shown(field)}; fields are {', '.join(fields)}")
    names = [field] if field is not None else sorted(fields, key=lambda name: _order(fields[name]))
    for name in names:
        query = _query(collection, doc_id, name, fields[name])
        if query is not None:
            found = collection.search(query, k + offset + 1, where, fields=name)
            return without(found, doc_id, k, offset)
    raise InvalidInput(f"document {shown(doc_id)} has nothing that field {' or '.join(names)} could look for others by")


def _order(field: Field) -> int:
    """What finds best comes first, as measured: latent terms of texts, vectors, visual words, words."""
    if field.has_vectors:
        return 1
    return 3 if not field.takes_ids else 2 if field.reads == "image" else 0


def _query(collection: Collection, doc_id: str, name: str, field: Field) -> Any:
    """What a field would look for; None where the document has nothing of it."""
    if field.has_vectors:
        return collection.vector(doc_id, field.stored_as(name))  # type: ignore[attr-defined]
    if field.takes_ids:
        return collection.terms_of(doc_id, name)
    if field.takes != "text" or field.across:
        return None
    document = collection.get(doc_id)
    text = "" if document is None else (document.text or "")[:LONGEST]
    return text if text.strip() else None


def heaviest_terms(searcher: Searcher, number: int, name: str) -> Terms | None:
    """The heaviest terms of a document in a field of numbered terms, as they are stored; of passages, the strongest."""
    statistics = searcher.field_searcher(name).statistics()
    segment, doc = searcher.place(number)
    reader = segment.fields.get(name)
    if reader is None:
        return None
    strongest: dict[int, float] = {}
    for row in rows_of(reader.passages, np.array([doc])).tolist():
        places = reader.forward(row).tolist()
        for at, tf in zip(places, (reader.tf(at, row) for at in places), strict=True):
            strongest[at] = max(strongest.get(at, 0), tf)
    if not strongest:
        return None
    ids = np.array([reader.term(at) for at in sorted(strongest)], np.int32)
    weights = statistics.weights(np.array([strongest[at] for at in sorted(strongest)]))
    heavy = np.sort(np.argsort(-weights, kind="stable")[:HEAVIEST])
    return Terms(ids[heavy], weights[heavy])
