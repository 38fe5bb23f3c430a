"""Searching."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import JSONResponse

from zipfian.errors import InvalidInput
from zipfian.serve.answering import answer, search_answer
from zipfian.serve.asking import filter_of, options
from zipfian.serve.routes.common import InPath, Shelved, router
from zipfian.serve.schemas.answers import SearchAnswer
from zipfian.serve.schemas.requests import SearchRequest

routes = router("search")


@routes.post("/{collection}/search", response_model=SearchAnswer, response_model_exclude_unset=True)
def search(request: Request, shelf: Shelved, collection: InPath, body: SearchRequest) -> JSONResponse:
    """The best documents for a text, a picture or both, and why."""
    served = shelf[collection].collection
    found = served.search(
        body.text, body.k, filter_of(body.where), offset=body.offset, image=body.image, rerank_depth=body.rerank_depth,
        exact_match_bonus=body.exact_match_bonus, **options(body, served),
    )  # fmt: skip
    if body.facets:
        raise InvalidInput("facets cannot be counted yet; leave them out")
    return answer(request, search_answer(found, body.explain, body.highlight, body.documents))
