"""Documents as they are stored, their pictures, and how many there are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from zipfian import limits
from zipfian.encode.picture_files import told
from zipfian.errors import NotTrusted, Refused
from zipfian.serve.answering import answer, content_of, facets_of
from zipfian.serve.asking import filter_of
from zipfian.serve.hidden import HIDDEN, check_columns
from zipfian.serve.pictures import thumbnail
from zipfian.serve.routes.common import InPath, document_in, router, shelf_of
from zipfian.serve.schemas.answers import CountAnswer, DocumentAnswer, FacetsAnswer
from zipfian.serve.schemas.requests import CountRequest, FacetsRequest

routes = router("documents")

SIDE = 320


@routes.get("/{collection}/documents/{id}", response_model=DocumentAnswer)
async def get_document(request: Request, collection: InPath, id: InPath) -> Response:
    """A document's text and metadata."""
    served = shelf_of(request)[collection].collection
    found = document_in(served, id)
    content = content_of(found.text, found.metadata, limits.MAX_SERVED_TEXT_CHARS)
    return answer(request, {"id": found.id, **content, "generation": served.generation})


@routes.get(
    "/{collection}/documents/{id}/thumbnail",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}, "description": "A JPEG, made anew"}},
)
async def get_thumbnail(
    request: Request, collection: InPath, id: InPath,
    side: Annotated[int, Query(ge=16, le=limits.MAX_SERVED_SIDE, description="Pixels of the longer side.")] = SIDE,
) -> Response:  # fmt: skip
    """A document's picture, small and made anew: nothing of its file goes along but what can be seen."""
    served = shelf_of(request)[collection].collection
    document_in(served, id)
    try:
        data = served.picture(id)
    except OSError as error:
        if isinstance(error, NotTrusted):
            raise
        raise Refused(404, "picture_gone", f"the picture of this document cannot be read: {told(error)}") from error
    if data is None:
        raise Refused(404, "no_picture", "this document has no picture")
    return Response(thumbnail(data, side), media_type="image/jpeg")


@routes.post("/{collection}/facets", response_model=FacetsAnswer)
async def facets(request: Request, collection: InPath, body: FacetsRequest) -> Response:
    """Values of metadata columns, and how many documents have each, among those that a filter allows."""
    served = shelf_of(request)[collection].collection
    where = filter_of(body.where)
    check_columns(body.columns or (), "columns")
    names = body.columns
    if names is None:
        names = [name for name in served.columns if name not in HIDDEN][: limits.MAX_SERVED_FACETS]
    counted = facets_of(served.facets(names, where, body.limit))
    return answer(request, {"facets": counted, "scope": served.count(where), "generation": served.generation})


@routes.post("/{collection}/count", response_model=CountAnswer)
async def count(request: Request, collection: InPath, body: CountRequest) -> Response:
    """How many documents a filter allows; all there are without one."""
    served = shelf_of(request)[collection].collection
    return answer(request, {"count": served.count(filter_of(body.where)), "generation": served.generation})
