"""From results to the body of an answer."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from zipfian import deadline, limits
from zipfian.collection.facets import Facet
from zipfian.collection.results import FieldHit, Hit, Results
from zipfian.explain.highlight import Snippet
from zipfian.fields.base import Field, PostingField
from zipfian.fields.query import Query
from zipfian.objects import plain
from zipfian.serve.hidden import has_picture, visible
from zipfian.serve.schemas.requests import Explain, Highlight

_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode


def answer(request: Request, content: Mapping[str, Any]) -> Response:
    """An answer with the time it took."""
    timed = {**content, "time": time.perf_counter() - request.state.start}
    return Response(written(timed), media_type="application/json")


def written(content: Mapping[str, Any]) -> bytes:
    """The JSON of `objects.plain(content)`, without a copy of it wherever JSON knows the values and their names."""
    try:
        text = _written(content)
    except (TypeError, ValueError):  # a name that is no text; a number that is not finite
        text = _written(plain(content))
    return text.encode()


def search_answer(
    found: Results, explain: Explain, highlight: Highlight | bool, documents: bool
) -> dict[str, Any]:  # fmt: skip
    """A search and its hits."""
    deadline.check("presenting the hits")
    start = time.perf_counter()
    return {
        "hits": [_hit(found, hit, n, explain, highlight, documents) for n, hit in enumerate(found)],
        "generation": found.generation,
        "settings": settings_of(found),
        "timings": {**found.timings, "present": time.perf_counter() - start},
        "notes": found.notes,
    }


def settings_of(found: Results) -> dict[str, Any]:
    """How it was searched, without the filter, which the caller has."""
    return {name: value for name, value in found.settings.items() if name != "where"}


def _hit(
    found: Results, hit: Hit, at: int, explain: Explain, highlight: Highlight | bool, documents: bool
) -> dict[str, Any]:  # fmt: skip
    out: dict[str, Any] = {
        "rank": hit.rank,
        "id": hit.id,
        "score": hit.score,
        "confidence": hit.confidence,
        "first_rank": hit.first_rank,
        "exact_match": hit.exact_match,
    }
    if explain != "none":
        fields = {name: _share(field) for name, field in hit.fields.items()}
        out |= {"fields": fields, "passage": found.passage(hit)}
    if explain in ("terms", "places") and at < limits.MAX_SERVED_REASONS:
        deadline.check("explaining a hit")
        out["explanation"] = found.explain(hit, explain == "places").to_dict(explain == "places")
    if highlight is not False:
        deadline.check("marking passages")
        out["snippets"] = _snippets(found, hit, Highlight() if highlight is True else highlight)
    if documents:
        out |= content_of(hit.text, hit.metadata, _SHORT)
    return out


def _share(field: FieldHit) -> dict[str, Any]:
    return {
        "rank": field.rank,
        "score": _finite(field.score),
        "share": _finite(field.share),
        "normalised": _finite(field.normalised),
    }


def _finite(number: float | None) -> float | None:
    """As JSON has it."""
    return number if number is None or math.isfinite(number) else None


_SHORT = 2_000
"""Characters of a hit's text; the document itself has more."""


def content_of(text: str | None, metadata: Mapping[str, Any], most: int) -> dict[str, Any]:
    """What a document holds."""
    cut = text is not None and len(text) > most
    return {
        "text": text[:most] if text is not None else None,
        "text_cut": cut,
        "metadata": visible(metadata),
        "picture": has_picture(metadata),
    }


def query_places(
    query: Query, trees: Iterable[Mapping[str, Any]], fields: Mapping[str, Field], by_table: Callable[[str], bool]
) -> dict[str, Any]:  # fmt: skip
    """Where the terms of some explanations stand in the query itself: by field, then by term.

    A field that read the query by its table has no places: whoever asked so wants no network to run.
    """
    shared: dict[str, set[Any]] = {}
    waiting = list(trees)
    while waiting:
        part = waiting.pop()
        waiting += part.get("parts", ())
        if part["kind"] == "term":
            shared.setdefault(part["field"], set()).add(part["term"])
    out: dict[str, Any] = {}
    for name, terms in shared.items():
        field = fields.get(name)
        if not isinstance(field, PostingField) or by_table(name):
            continue
        deadline.check("looking for places in the query")
        there = field.query_places(query, terms)
        if there:
            out[name] = {str(term): [dict(place) for place in places] for term, places in there.items()}
    return out


def read_by_table(found: Results, name: str) -> bool:
    """Whether a field read the query by its table; results of one field say it without its name."""
    each = found.settings.get("fields")
    how: Mapping[str, Any] = each.get(name, {}) if isinstance(each, Mapping) else found.settings
    return how.get("query") == "table"


def _snippets(found: Results, hit: Hit, how: Highlight) -> list[dict[str, Any]]:
    if not (hit.text or "").strip():
        return []
    return [_snippet(s) for s in found.highlight(hit, max_chars=how.max_chars, max_snippets=how.max_snippets)]


def _snippet(snippet: Snippet) -> dict[str, Any]:
    return {
        "text": snippet.text,
        "start": snippet.start,
        "end": snippet.end,
        "marks": [list(mark) for mark in snippet.marks],
        "more_before": snippet.more_before,
        "more_after": snippet.more_after,
    }


def facets_of(counted: Mapping[str, Facet]) -> dict[str, Any]:
    """Values of columns, with their ends where they have an order."""
    return {name: dataclasses.asdict(facet) for name, facet in counted.items()}
