"""What is served."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from zipfian.collection.plan import METHODS
from zipfian.fields.base import Field, PostingField
from zipfian.rerank import PRESETS
from zipfian.serve.answering import answer
from zipfian.serve.hidden import HIDDEN
from zipfian.serve.routes.common import InPath, router, shelf_of
from zipfian.serve.schemas.answers import CollectionAnswer, CollectionsAnswer
from zipfian.serve.shelf import Served

routes = router("collections")


@routes.get("", response_model=CollectionsAnswer)
async def list_collections(request: Request) -> Response:
    """The collections of this service."""
    return answer(request, {"collections": [about(one) for one in shelf_of(request)]})


@routes.get("/{collection}", response_model=CollectionAnswer)
async def get_collection(request: Request, collection: InPath) -> Response:
    """One collection: its fields, columns and methods."""
    return answer(request, {"collection": about(shelf_of(request)[collection])})


def about(served: Served) -> dict[str, Any]:
    """What a collection holds."""
    collection = served.collection
    fields = collection.fields
    return {
        "name": served.name,
        "documents": collection.count(),
        "generation": collection.generation,
        "fields": [_field(name, field) for name, field in fields.items()],
        "columns": {name: kind for name, kind in collection.columns.items() if name not in HIDDEN},
        "methods": list(METHODS),
        "presets": list(PRESETS),
        "pictures": any(name in HIDDEN for name in collection.columns),
        "writable": served.writable,
        "engine": served.engine,
    }


def _field(name: str, field: Field) -> dict[str, Any]:
    posting = isinstance(field, PostingField)
    return {
        "name": name,
        "kind": field.kind,
        "reads": field.reads,
        "takes": field.takes,
        "terms": field.has_postings,
        "labels": isinstance(field, PostingField) and field.labelled,
        "patches": field.shows_patches,
        "scoring": field.scoring.to_json() if isinstance(field, PostingField) and posting else None,
    }
