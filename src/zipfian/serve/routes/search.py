"""Searching."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from zipfian import deadline, limits
from zipfian.collection import Results
from zipfian.errors import LimitExceeded
from zipfian.fields.query import Query as Asked
from zipfian.serve.answering import answer, facets_of, query_places, read_by_table, search_answer
from zipfian.serve.asking import filter_of, options
from zipfian.serve.hidden import check_columns
from zipfian.serve.routes.common import InPath, document_in, router, shelf_of
from zipfian.serve.schemas.answers import SearchAnswer, SearchManyAnswer
from zipfian.serve.schemas.base import Name
from zipfian.serve.schemas.requests import Explain, SearchManyRequest, SearchRequest

routes = router("search")


@routes.post("/{collection}/search", response_model=SearchAnswer)
async def search(request: Request, collection: InPath, body: SearchRequest) -> Response:
    """The best documents for a text, a picture or both, and why."""
    served = shelf_of(request)[collection].collection
    where = filter_of(body.where)
    check_columns(body.facets, "facets")
    query = Asked(body.text, body.image, body.query_encoder, body.adjust)
    found = served.search(
        query, body.k, where, offset=body.offset, rerank_depth=body.rerank_depth,
        exact_match_bonus=body.exact_match_bonus, min_confidence=body.min_confidence, exclude_self=body.exclude_self,
        **options(body, served),
    )  # fmt: skip
    _measured(request, collection, found)
    out = search_answer(found, body.explain, body.highlight, body.documents)
    if body.explain == "places":
        trees = [hit["explanation"] for hit in out["hits"] if "explanation" in hit]
        out["query_places"] = query_places(query, trees, served.fields, partial(read_by_table, found))
    if body.facets:
        deadline.check("counting values")
        out |= {"facets": facets_of(served.facets(body.facets, where)), "scope": served.count(where)}
    return answer(request, out)


@routes.post("/{collection}/search_many", response_model=SearchManyAnswer)
async def search_many(request: Request, collection: InPath, body: SearchManyRequest) -> Response:
    """Many texts at once: an encoder takes them in one pass, and the searches run side by side."""
    served = shelf_of(request)[collection].collection
    if len(body.texts) * (body.k + body.offset) > limits.MAX_SERVED_BATCH_HITS:
        raise LimitExceeded(
            f"{len(body.texts)} searches for {body.k + body.offset} hits each; one request may ask for "
            f"{limits.MAX_SERVED_BATCH_HITS:,} hits in all"
        )
    many = served.search_many(
        body.texts, body.k, where=filter_of(body.where), offset=body.offset, **options(body, served)
    )
    for found in many:
        _measured(request, collection, found)
    results = [search_answer(found, body.explain, False, body.documents) for found in many]
    return answer(request, {"results": results})


@routes.get("/{collection}/similar/{id}", response_model=SearchAnswer)
async def similar(
    request: Request, collection: InPath, id: InPath,
    k: Annotated[int, Query(ge=1, le=limits.MAX_SERVED_K)] = 10,
    offset: Annotated[int, Query(ge=0, le=limits.MAX_SERVED_OFFSET)] = 0,
    field: Annotated[Name | None, Query(description="What likeness is judged by.")] = None,
    explain: Annotated[Explain, Query(description="As for a search.")] = "fields",
    documents: bool = True,
) -> Response:  # fmt: skip
    """Documents like one that is there: what is stored of it becomes the query."""
    served = shelf_of(request)[collection].collection
    document_in(served, id)
    found = served.similar(id, k, offset=offset, field=field)
    return answer(request, search_answer(found, explain, False, documents))


def _measured(request: Request, collection: str, found: Results) -> None:
    request.app.state.metrics.searched(collection, found)
    request.state.searched = _told(found, request.app.state.settings.log_queries)


def _told(found: Results, queries: bool) -> dict[str, Any]:
    """What the log says of a search: of the query only where somebody wants it."""
    told = {"hits": len(found), "how": found.settings.get("method"), "generation": found.generation}
    return {**told, "query": found.query} if queries and isinstance(found.query, str) else told
