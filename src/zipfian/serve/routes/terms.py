"""The vocabulary: terms, what they are called, and where they are strongest."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from zipfian import limits
from zipfian.collection.terms import TermDocument
from zipfian.errors import Refused, shown
from zipfian.serve.answering import answer
from zipfian.serve.hidden import has_picture
from zipfian.serve.routes.common import InPath, router, shelf_of
from zipfian.serve.schemas.answers import TermAnswer, TermsAnswer, VocabularyAnswer
from zipfian.serve.schemas.base import Name
from zipfian.serve.shelf import Served

routes = router("terms")

SHORT = 500
"""Characters of the text of an example."""


@routes.get("/{collection}/terms", response_model=TermsAnswer)
async def list_terms(
    request: Request, collection: InPath,
    label: Annotated[
        str | None,
        Query(min_length=1, max_length=limits.MAX_LABEL_CHARS, description="Words of a label, or beginnings."),
    ] = None,
    field: Annotated[Name | None, Query(description="Of this field; of all that can be asked without it.")] = None,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_SERVED_VALUES)] = 50,
    offset: Annotated[int, Query(ge=0, le=limits.MAX_SERVED_OFFSET)] = 0,
) -> Response:  # fmt: skip
    """The terms that documents have, most frequent first; or those whose label matches."""
    served = shelf_of(request)[collection]
    names = [_posting(served, field)] if field is not None else _askable(served, label is not None)
    lists = [served.collection.terms(name, label, limit, offset) for name in names]
    fields = [{"field": one.field, "terms": list(one.terms), "found": one.found} for one in lists]
    return answer(request, {"fields": fields})


@routes.get("/{collection}/terms/{field}/{term}", response_model=TermAnswer)
async def get_term(
    request: Request, collection: InPath, field: InPath, term: InPath,
    k: Annotated[int, Query(ge=1, le=100, description="Documents.")] = 6,
) -> Response:  # fmt: skip
    """One term: its label, how many documents have it, those in which it is strongest, its neighbours."""
    served = shelf_of(request)[collection]
    page = served.collection.term(_posting(served, field), term, k)
    near = [{"term": number, "label": label, "similarity": cosine} for number, label, cosine in page.neighbours]
    content = {
        "field": page.field,
        "term": page.info,
        "documents": [_document(one) for one in page.documents],
        "neighbours": near,
        "n": page.n,
    }
    return answer(request, content)


@routes.get("/{collection}/vocabulary/{field}", response_model=VocabularyAnswer)
async def get_vocabulary(request: Request, collection: InPath, field: InPath) -> Response:
    """How the terms of a field are spread over the documents: the curve of Zipf's law."""
    served = shelf_of(request)[collection]
    info = served.collection.vocabulary(_posting(served, field))
    curve = [{"rank": rank, "df": df} for rank, df in info.curve]
    content = {"field": info.field, "n": info.n, "terms": info.terms, "postings": info.postings, "curve": curve}
    return answer(request, {**content, "kinds": dict(info.kinds)})


def _document(one: TermDocument) -> dict[str, Any]:
    first = min((place["start"] for place in one.places if "start" in place), default=0)
    start = max(0, first - SHORT // 4)
    return {
        "id": one.id,
        "weight": one.weight,
        "text": None if one.text is None else one.text[start : start + SHORT],
        "start": start,
        "places": [dict(place) for place in one.places[: limits.MAX_EVIDENCE]],
        "picture": has_picture(one.metadata),
    }


def _askable(served: Served, labelled: bool) -> list[str]:
    """Fields that have terms; those whose terms can be looked for, where somebody looks for one."""
    fields = served.collection.fields
    return [
        name
        for name, field in fields.items()
        if field.has_postings and (not labelled or field.lexical or _has_labels(served, name))
    ]


def _has_labels(served: Served, name: str) -> bool:
    field: Any = served.collection.fields[name]
    known = field.dictionary()
    return known is not None and known.label_table is not None


def _posting(served: Served, name: str) -> str:
    fields = served.collection.fields
    if name not in fields or not fields[name].has_postings:
        have = ", ".join(n for n, field in fields.items() if field.has_postings)
        raise Refused(404, "unknown_field", f"there is no field {shown(name)} with terms; there is {have or 'none'}")
    return name
