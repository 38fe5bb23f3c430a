"""From the body of a request to the arguments of a search."""

from __future__ import annotations

import dataclasses
from typing import Any

from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.fields.base import PostingField
from zipfian.fuse import method_from_json
from zipfian.retrieve.scoring import BM25
from zipfian.serve.hidden import check_filter
from zipfian.serve.schemas.requests import How, Scoring

FUSIONS = {None: "adaptive", "hybrid": "adaptive", "linear": "linear", "rrf": "rrf"}
"""Methods that weights go with."""


def options(asked: How, collection: Collection) -> dict[str, Any]:
    """How to search, as `Collection.search` and `Collection.explain` take it."""
    out: dict[str, Any] = {"fields": asked.fields, "preset": asked.preset, "query_encoder": asked.query_encoder}
    out["method"] = asked.method if asked.weights is None else _weighted(asked, collection)
    if asked.scoring is not None:
        out["scoring"] = _scoring(asked, asked.scoring, collection)
    if asked.adjust:
        out["adjust"] = asked.adjust
    return out


def _scoring(asked: How, given: Scoring, collection: Collection) -> BM25:
    """The formula of the one field that is searched, with what the request changes of it."""
    name = asked.fields[0] if asked.fields is not None and len(asked.fields) == 1 else asked.method
    field = collection.fields.get(name) if name is not None else None
    own = field.scoring if isinstance(field, PostingField) and isinstance(field.scoring, BM25) else BM25()
    changes = given.model_dump(exclude_none=True)
    if changes.get("variant", own.variant) != own.variant:
        changes["delta"] = None  # it belongs to the variant that it was given for
    return dataclasses.replace(own, **changes)


def filter_of(where: dict[str, Any] | None) -> dict[str, Any] | None:
    """A filter that a request may use."""
    if where is not None:
        check_filter(where)
    return where


def _weighted(asked: How, collection: Collection) -> Any:
    if asked.preset is not None:
        raise InvalidInput("weights go with a method, not with a preset: leave one of them out")
    if asked.method not in FUSIONS:
        raise InvalidInput(f"weights go with the methods hybrid, linear and rrf, not with {asked.method!r}")
    unknown = sorted(set(asked.weights or ()) - set(collection.fields))
    if unknown:
        raise InvalidInput(f"weights: there is no field {unknown[0]!r}; fields are {', '.join(collection.fields)}")
    return method_from_json({"method": FUSIONS[asked.method], "weights": asked.weights})
