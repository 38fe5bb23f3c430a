"""Reasons."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from zipfian import deadline
from zipfian.fields.query import Query
from zipfian.serve.answering import answer, query_places
from zipfian.serve.asking import filter_of, options
from zipfian.serve.routes.common import InPath, document_in, router, shelf_of
from zipfian.serve.schemas.answers import ExplainAnswer
from zipfian.serve.schemas.requests import ExplainRequest

routes = router("explain")


@routes.post("/{collection}/explain", response_model=ExplainAnswer)
async def explain(request: Request, collection: InPath, body: ExplainRequest) -> Response:
    """Why a document scores what it scores, found or not, and what it lacks; or why it stands above another."""
    served = shelf_of(request)[collection].collection
    how, places = options(body, served), body.explain == "places"
    for wanted in filter(None, (body.id, body.above)):
        document_in(served, wanted)
    query = Query(body.text, body.image, body.query_encoder, body.adjust)  # one pass of an encoder for all of it
    found = served.absence(query, body.id, body.k, filter_of(body.where), **how)
    deadline.check("explaining")
    if body.above is not None:
        tree = served.why(query, body.id, body.above, **how)
    else:
        tree = served.explain(query, body.id, **how)
    reasons = tree.to_dict(places)
    out = {
        "id": body.id,
        "above": body.above,
        "rank": found.rank,
        "score": found.score,
        "cutoff": found.cutoff,
        "missing": found.reasons,
        "lacking": {name: list(terms) for name, terms in found.lacking.items()},
        "explanation": reasons,
    }
    if places and body.above is None:
        table = body.query_encoder == "table" or body.method == "latent-table"
        out["query_places"] = query_places(query, [reasons], served.fields, lambda _: table)
    return answer(request, out)
