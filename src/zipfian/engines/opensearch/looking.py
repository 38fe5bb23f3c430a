"""Values and terms of an index, counted by the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zipfian.collection.facets import Facet, facet_of
from zipfian.collection.results import Results
from zipfian.collection.terms import TermDocument, TermList, TermPage, neighbours_of, term_info, term_number
from zipfian.engines.opensearch.columns import HAS, index_name
from zipfian.engines.opensearch.reader import Reader
from zipfian.engines.opensearch.retrievers import PostingsRetriever
from zipfian.errors import InvalidInput, shown
from zipfian.fields.lexical import LexicalField
from zipfian.fields.query import Query
from zipfian.index.metadata import ColumnType, element_type

Search = Callable[..., Results]
"""`Collection.search` of the collection that is looked at."""

BUCKETS = 10_000
"""Values of a column that are looked at: with fewer than that, every count is exact. Clusters allow 65,535."""


def facets(reader: Reader, names: Sequence[str], where: Mapping[str, Any] | None, limit: int) -> dict[str, Facet]:
    """Values of columns among the documents that a filter allows, in one request."""
    columns, mask = reader.settings.columns, reader.mask(where)
    wanted: dict[str, Any] = {}
    for i, name in enumerate(names):
        wanted[f"has{i}"] = {"filter": {"term": {HAS: name}}}
        for j, stored in enumerate(_stored(name, columns[name])):
            wanted[f"values{i}-{j}"] = {"terms": {"field": stored, "size": BUCKETS}}
    found, total = reader.aggregated(mask, wanted), reader.count(mask)
    out: dict[str, Facet] = {}
    for i, name in enumerate(names):
        counts: dict[Any, int] = {}
        for key, part in found.items():
            if key.startswith(f"values{i}-"):
                for bucket in part["buckets"]:
                    counts[_value(columns[name], bucket)] = int(bucket["doc_count"])
        out[name] = facet_of(columns[name], counts, total - int(found[f"has{i}"]["doc_count"]), limit)
    return out


def _stored(name: str, column_type: ColumnType) -> list[str]:
    """The fields of the index that hold a column: whole numbers among others have one of their own."""
    if element_type(column_type) is None:  # nothing but empty lists
        return []
    out = [index_name(name, column_type)]
    if element_type(column_type) == "number":
        out.append(index_name(name, "list[integer]" if column_type.startswith("list") else "integer"))
    return out


def _value(column_type: ColumnType, bucket: Mapping[str, Any]) -> Any:
    return bool(bucket["key"]) if element_type(column_type) == "boolean" else bucket["key"]


def term_page(reader: Reader, search: Search, name: str, given: str | int, k: int) -> TermPage:
    """A term and the documents that it scores highest in: the term becomes the query, and reasons say the rest."""
    field = reader.settings.postings(name)
    query = Query(str(given) if isinstance(field, LexicalField) else {term_number(field, given): 1.0})
    found = search(query, k, fields=name)
    terms: list[Any] = list(query.terms_in(name, field))
    if len(terms) != 1:
        raise InvalidInput(f"a term of a field of words is one word, not {shown(given)}")
    documents = []
    for hit in found:
        part = next(part for part in found.explain(hit).parts if part.kind == "term")
        documents.append(TermDocument(hit.id, float(part.details["tf"]), hit.text, part.evidence, hit.metadata))
    # the reasons' df has documents in it that were deleted and not yet merged away
    df = reader.frequencies([PostingsRetriever(reader, name, query).clause(terms[0], 1.0)])
    n = reader.count(None)
    info = term_info(field, terms[0], int(df[0]), n)
    return TermPage(name, info, documents, neighbours_of(field, terms[0]), n)


def labelled_terms(reader: Reader, name: str, find: str | None, limit: int, offset: int) -> TermList:
    """Terms whose labels match; an index does not list the terms it holds."""
    field = reader.settings.postings(name)
    known = field.dictionary()
    labels = None if known is None else known.label_table
    if find is None or labels is None:
        raise InvalidInput(
            f"an index lists no terms of field {shown(name)}: look for one by its label where the field has labels, or "
            "list them in the folder that this was copied from"
        )
    matching = labels.find(find)
    chosen = matching[offset : offset + limit]
    if not chosen:
        return TermList(name, [], len(matching))
    asked = PostingsRetriever(reader, name, Query(dict.fromkeys(chosen, 1.0)))
    df = reader.frequencies([asked.clause(term, 1.0) for term in chosen])
    n = reader.count(None)
    return TermList(name, [term_info(field, t, int(d), n) for t, d in zip(chosen, df, strict=True)], len(matching))
