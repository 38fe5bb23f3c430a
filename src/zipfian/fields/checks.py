"""What every kind of field must keep to, as one check for the tests of whoever writes one."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from zipfian import limits
from zipfian.encode.registry import find
from zipfian.errors import InvalidInput
from zipfian.fields.base import Field, PostingField, Source, Takes, VectorField
from zipfian.fields.item import Item, Stored
from zipfian.fields.lexical import LexicalField
from zipfian.fields.query import Query
from zipfian.fields.registry import field_from_json
from zipfian.fields.terms import store_terms
from zipfian.retrieve.scoring import Dot

NAME = "checked"


def check_field(field: Field, documents: Sequence[Any], queries: Sequence[Any] | None = None) -> None:
    """Check that a field keeps the promises that collections, engines and explanations rely on.

    Parameters
    ----------
    field
        The field; a kind of your own must be registered.
    documents
        Some of what it reads: texts or pictures; `Terms` or vectors where they come ready-made.
    queries
        Some of what it takes; the documents themselves, unless blank, where none are given.

    Raises
    ------
    InvalidInput
        The first promise that is broken, in a sentence.

    Examples
    --------
    >>> from zipfian.fields import Words
    >>> check_field(Words(), ["Plants make food.", "Cats sleep.", ""])
    """
    _check_settings(field)
    given = [d for d in documents if not isinstance(d, str) or d.strip()] if queries is None else queries
    asked = [query_of(field, query) for query in given]
    items = [_item(field, document) for document in documents]
    if isinstance(field, PostingField):
        found = [_check_query(field, query) for query in asked]
        _expect(any(found), "no query has a term: give some that have")
        if field.has_postings:
            _check_postings(field, items)
            _check_places(field, items, documents)
    elif isinstance(field, VectorField):
        for query in asked:
            _check_vector(field.vector_of(query), "a query's")
        for item in items:
            if field.stored_as(NAME) in item.vectors:
                _check_vector(item.vectors[field.stored_as(NAME)], "a document's")
    else:
        _expect(False, "it is neither a PostingField nor a VectorField")
    _check_refusal(field)


def query_of(field: Field, given: Any) -> Query:
    """What a caller gives, as the query that a field takes."""
    return Query(None, given) if field.takes == "image" else Query(given)


def _check_settings(field: Field) -> None:
    _expect(isinstance(field, Field), "it does not derive from zipfian.Field")
    _expect(field.reads in (None, *get_args(Source)), f"it reads {field.reads!r}")
    _expect(field.takes in get_args(Takes), f"it takes {field.takes!r}")
    _expect(math.isfinite(field.weight) and field.weight >= 0.0, f"its weight is {field.weight!r}")
    stored = json.loads(json.dumps(field.to_json(), allow_nan=False))
    _expect(stored.get("kind") == field.kind, "to_json does not name its kind")
    again = field_from_json(NAME, stored)
    _expect(again == field and hash(again) == hash(field), "what from_json makes of to_json is another field")
    _expect(again.to_json() == field.to_json(), "what from_json makes of to_json has other settings")
    for part in dataclasses.fields(field):  # type: ignore[arg-type]
        try:
            setattr(field, part.name, getattr(field, part.name))
        except AttributeError:
            continue
        _expect(False, f"its {part.name} can be changed: make it a frozen dataclass")
    if field.encoder is not None:
        _expect(field.encoder.kind == field.reads, "its encoder does not read what the field reads")
        _expect(field.reader(NAME) is not None, "it has an encoder and no reader of its results")
    if isinstance(field, PostingField):
        other = field.with_scoring(Dot(phi="sqrt"))
        _expect(other != field and other.with_scoring(field.scoring) == field, "with_scoring changes more than that")
        _expect(field.lexical == isinstance(field, LexicalField), "lexical fields derive from LexicalField")


def _item(field: Field, document: Any) -> Item:
    """A document on its way into the index, as a collection prepares it."""
    item = Item("x", document if isinstance(document, str) else None, {}, {}, {}, 0)
    reader = field.reader(NAME)
    if field.encoder is not None and reader is not None:
        (encoded,) = find(field.encoder).encode_documents([document])
        reader.give(item, {form: make(encoded) for form, make in reader.makers.items()})
    elif isinstance(field, PostingField) and field.reads_plain_text:
        store_terms(item, NAME, field, field.to_terms(document))
    elif isinstance(field, PostingField) and field.takes == "terms":
        store_terms(item, NAME, field, document)
    return item


def _check_query(field: PostingField, query: Query) -> int:
    query.check(NAME, field)
    weights = field.terms_of(query)
    _expect(dict(weights) == dict(field.terms_of(query)), "the same query has other terms the second time")
    terms: list[Any] = list(weights)
    if field.lexical:
        short = all(isinstance(t, str) and 1 <= len(t.encode()) <= limits.MAX_TERM_BYTES for t in terms)
        _expect(short, f"the terms of a lexical field are words of 1 to {limits.MAX_TERM_BYTES} bytes")
    else:
        _expect(all(type(t) is int for t in terms) and terms == sorted(terms), "term ids of a query must ascend")
        most = field.n_terms or limits.MAX_TERMS
        _expect(not terms or (terms[0] >= 0 and terms[-1] < most), f"term ids must lie in 0 .. {most - 1}")
    _expect(all(math.isfinite(w) and w > 0.0 for w in weights.values()), "weights must be finite and above 0")
    for term in terms:
        _expect(isinstance(field.label(term), str), f"the label of term {term!r} is no text")
    behind = field.words_behind(query, terms)
    _expect(set(behind) <= set(terms), "words_behind names terms that were not wanted")
    return len(terms)


def _check_postings(field: PostingField, items: Sequence[Item]) -> None:
    batch = field.batch(NAME, items)
    terms = list(batch.terms)
    _expect(len(batch.indptr) == len(items) + 1, f"{len(items)} documents became {len(batch.indptr) - 1} rows")
    _expect(terms == sorted(set(terms)), "the terms of a batch must be sorted and unique")
    _expect(all(isinstance(t, str) for t in terms) if field.lexical else True, "the terms of a lexical field are words")
    _expect(bool((np.asarray(batch.tf) > 0).all()), "what is stored must be above 0")
    for i, item in enumerate(items):
        row = slice(int(batch.indptr[i]), int(batch.indptr[i + 1]))
        places = batch.indices[row]
        _expect(bool((places[1:] > places[:-1]).all()), f"the terms of document {i} do not ascend")
        together = {terms[p]: w for p, w in zip(places.tolist(), batch.tf[row].tolist(), strict=True)}
        alone = field.batch(NAME, [item])
        _expect(
            together == dict(zip(list(alone.terms), _in_order(alone), strict=True)),
            f"document {i} has other terms alone than among others",
        )
        if isinstance(field, LexicalField):
            _expect(together == dict(field.kept(item)), f"document {i}: batch and counts differ")


def _in_order(batch: Any) -> list[float]:
    """The weights of a batch of one document, in the order of its terms."""
    out = [0.0] * len(batch.terms)
    for place, weight in zip(batch.indices.tolist(), batch.tf.tolist(), strict=True):
        out[place] = weight
    return out


def _check_places(field: PostingField, items: Sequence[Item], documents: Sequence[Any]) -> None:
    for item, document in zip(items, documents, strict=True):
        batch = field.batch(NAME, [item])
        wanted = [t if isinstance(t, str) else int(t) for t in batch.terms]
        weights = dict(zip(wanted, (w / field.scale for w in _in_order(batch)), strict=True))
        found, _ = field.places(_stored(item, document), wanted, weights)
        _expect(set(found) <= set(wanted), "places names terms that were not wanted")
        for term, rows in found.items():
            for place in rows:
                if "row" in place:
                    inside = 0 <= place["row"] < place["rows"] and 0 <= place["column"] < place["columns"]
                    _expect(inside, f"term {term!r} stands outside of the picture's grid")
                else:
                    text, start, end = item.text or "", place["start"], place["end"]
                    _expect(0 <= start < end <= len(text), f"term {term!r} stands outside of the text")
                    _expect(place["text"] == text[start:end], f"term {term!r}: the place shows another text")


def _stored(item: Item, document: Any) -> Stored:
    return Stored(item.text, lambda: None if item.text is not None else document)


def _check_vector(vector: Any, whose: str) -> None:
    _expect(vector.ndim == 1 and vector.dtype == np.float32, f"{whose} vector must be a row of float32")
    _expect(bool(np.isfinite(vector).all()), f"{whose} vector holds a number that is not finite")
    length = float(np.linalg.norm(vector.astype(np.float64)))
    _expect(length == 0.0 or abs(length - 1.0) < 1e-4, f"{whose} vector has length {length:.4f}, not 1")


def _check_refusal(field: Field) -> None:
    """A query of another sort is refused by name, in a sentence that says what the field takes."""
    wrong = Query("a text") if field.takes != "text" else Query(None, b"a picture")
    try:
        wrong.check(NAME, field)
    except InvalidInput as error:
        _expect(NAME in str(error) and "takes" in str(error), "a wrong query is refused without saying what it takes")
    else:
        _expect(False, f"it does not refuse {wrong.describe()}")


def _expect(kept: bool, problem: str) -> None:
    if not kept:
        raise InvalidInput(f"this field does not keep its promises: {problem}")
