"""What routes share: the collections, names in paths, and how errors are documented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Path, Request
from pydantic import AfterValidator

from zipfian import limits
from zipfian.collection import Collection, Document
from zipfian.errors import Refused, shown
from zipfian.serve.schemas.answers import ErrorAnswer
from zipfian.serve.shelf import Shelf

ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "No key, or one that the service does not know"},
    404: {"model": ErrorAnswer, "description": "No such collection, document, field or term"},
    413: {"model": ErrorAnswer, "description": "The body is too large"},
    422: {"model": ErrorAnswer, "description": "The request cannot be used as given"},
    503: {"model": ErrorAnswer, "description": "Busy: ask again after Retry-After seconds"},
    "default": {"model": ErrorAnswer, "description": "Any other error"},
}


def router(tag: str, also: Sequence[Any] = ()) -> APIRouter:
    """Routes of collections, and what they depend on."""
    return APIRouter(prefix="/v1/collections", tags=[tag], responses=ERRORS, dependencies=also)


def _unquoted(value: str) -> str:
    """A name as it was before it was put into a path: slashes may be in it, encoded."""
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("a name in a path is UTF-8, percent-encoded") from None


_LONGEST = 3 * 4 * limits.MAX_ID_BYTES
"""Characters of a name of that many characters, each of four bytes, each of which takes three."""

InPath = Annotated[str, Path(min_length=1, max_length=_LONGEST), AfterValidator(_unquoted)]


def shelf_of(request: Request) -> Shelf:
    """The collections of the service."""
    shelf: Shelf = request.app.state.shelf
    return shelf


async def writer(request: Request) -> None:
    """Only who may write passes."""
    if request.state.role != "admin":
        raise Refused(403, "not_admin", "this changes a collection, and needs an admin key", "auth")


def document_in(collection: Collection, doc_id: str) -> Document:
    """A document that must be there."""
    found = collection.get(doc_id)
    if found is None:
        raise Refused(404, "unknown_document", f"there is no document {shown(doc_id)}")
    return found
