"""From the body of a request to the arguments of a search."""

from __future__ import annotations

from typing import Any

from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.fuse import method_from_json
from zipfian.retrieve.scoring import BM25
from zipfian.serve.hidden import check_filter
from zipfian.serve.schemas.requests import How

FUSIONS = {None: "adaptive", "hybrid": "adaptive", "linear": "linear", "rrf": "rrf"}
"""Methods that weights go with."""


def options(asked: How, collection: Collection) -> dict[str, Any]:
    """How to search, as `Collection.search` and `Collection.explain` take it."""
    out: dict[str, Any] = {"fields": asked.fields, "preset": asked.preset, "query_encoder": asked.query_encoder}
    out["method"] = asked.method if asked.weights is None else _weighted(asked, collection)
    if asked.scoring is not None:
        out["scoring"] = BM25(asked.scoring.k1, asked.scoring.b, asked.scoring.variant)
    if asked.adjust:
        out["adjust"] = asked.adjust
    return out


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
