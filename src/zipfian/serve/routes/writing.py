"""Changes: for whoever has an admin key, in collections that are served for writing."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Request
from starlette.responses import Response

from zipfian.serve.answering import answer
from zipfian.serve.asking import filter_of
from zipfian.serve.hidden import check_columns
from zipfian.serve.routes.common import InPath, router, shelf_of, writer
from zipfian.serve.schemas.answers import AddAnswer, CommitAnswer, DeleteAnswer, UpdateAnswer
from zipfian.serve.schemas.requests import (
    AddRequest,
    ChangedDocument,
    CommitRequest,
    DeleteRequest,
    NewDocument,
    UpdateRequest,
)

routes = router("writing", also=[Depends(writer)])


@routes.post("/{collection}/documents", response_model=AddAnswer)
async def add(request: Request, collection: InPath, body: AddRequest) -> Response:
    """Take in documents; a commit makes them durable and visible."""
    served = shelf_of(request).writer(collection)
    items = [_item(document) for document in body.documents]
    return answer(request, {"added": served.add(items, body.existing)})


@routes.patch("/{collection}/documents", response_model=UpdateAnswer)
async def update(request: Request, collection: InPath, body: UpdateRequest) -> Response:
    """Change parts of documents that are there; a commit makes that durable and visible."""
    served = shelf_of(request).writer(collection)
    return answer(request, {"updated": served.update([_change(document) for document in body.documents])})


@routes.post("/{collection}/documents/delete", response_model=DeleteAnswer)
async def delete(request: Request, collection: InPath, body: DeleteRequest) -> Response:
    """Remove documents by their ids or by a filter; a commit makes that durable and visible."""
    served = shelf_of(request).writer(collection)
    deleted = served.delete(body.ids) if body.ids is not None else served.delete(where=filter_of(body.where))
    return answer(request, {"deleted": deleted})


@routes.post("/{collection}/commit", response_model=CommitAnswer)
async def commit(request: Request, collection: InPath, body: CommitRequest) -> Response:
    """Make all changes durable and visible, all or nothing."""
    return answer(request, {"generation": shelf_of(request).writer(collection).commit(body.user)})


def _item(document: NewDocument) -> dict[str, Any]:
    """As the library takes it. A picture comes as bytes: a path of the client's would be one of this machine's."""
    check_columns(document.metadata, "metadata")
    out: dict[str, Any] = {"id": document.id, "metadata": dict(document.metadata)}
    if document.text is not None:
        out["text"] = document.text
    if document.image is not None:
        out["image"] = document.image
    return out


def _change(document: ChangedDocument) -> dict[str, Any]:
    """As the library takes it: only what was sent is there, since a text of null is another thing than none."""
    check_columns(document.metadata, "metadata")
    sent = {name: getattr(document, name) for name in document.model_fields_set}
    return {name: value for name, value in sent.items() if name != "image" or value is not None}
