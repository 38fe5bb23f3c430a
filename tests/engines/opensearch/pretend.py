"""A server in memory that answers the few requests a `Reader` makes, by the documented meaning of each query.

Written from OpenSearch's reference, not from our translations, so that both can be compared. Scores: a `term` on a
field is its boost times the term's frequency, a script is whatever `rough` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zipfian.engines.opensearch.address import Address
from zipfian.engines.opensearch.client import Server

Source = Mapping[str, Any]


class Pretend:
    """Holds documents by id; stands in for a `Client`."""

    def __init__(
        self, documents: Mapping[str, Source], clauses: int = 1024, rough: Callable[[str], float] = lambda doc_id: 0.0
    ) -> None:
        self.address = Address.parse("opensearch://localhost/pretended")
        self.server = Server("opensearch", "2.19.1")
        self.documents = dict(documents)
        self.clauses = clauses
        self.rough = rough
        self.asked: list[dict[str, Any]] = []
        """Every search body, in order."""

    def call(self, method: str, path: str, body: Any = None, params: Any = None) -> Any:
        if path == "/_cluster/settings":
            return {"defaults": {"indices.query.bool.max_clause_count": str(self.clauses)}}
        if path.endswith("point_in_time"):
            return {"pit_id": "now"}
        assert path.endswith("/_search"), path
        self.asked.append(body)
        query = body.get("query", {"match_all": {}})
        scored = [(i, score(query, i, d, self.rough)) for i, d in self.documents.items() if matches(query, i, d)]
        answer: dict[str, Any] = {"hits": {"total": {"value": len(scored)}}}
        if "aggs" in body:
            filters = body["aggs"]["df"]["filters"]["filters"]
            counts = {
                n: {"doc_count": sum(matches(q, i, d) for i, d in self.documents.items())} for n, q in filters.items()
            }
            answer["aggregations"] = {"df": {"buckets": counts}}
        hits = [{"_id": i, "_score": s, "sort": [s, self.documents[i].get("zf_seq", 0)]} for i, s in scored]
        hits.sort(key=lambda hit: (-hit["sort"][0], hit["sort"][1]))
        if "search_after" in body:
            after = body["search_after"]
            hits = [hit for hit in hits if (-hit["sort"][0], hit["sort"][1]) > (-after[0], after[1])]
        for hit in hits:
            source = self.documents[hit["_id"]]
            hit["fields"] = {name: [source[name]] for name in body.get("docvalue_fields", ()) if name in source}
        answer["hits"]["hits"] = hits[: body["size"]]
        return answer


def values(source: Source, field: str) -> list[Any]:
    """What a field of a document holds: a list's elements, or the one value."""
    held = source.get(field)
    return [] if held is None else list(held) if isinstance(held, list) else [held]


def matches(query: Mapping[str, Any], doc_id: str, source: Source) -> bool:
    """Whether a document satisfies a query."""
    ((kind, body),) = query.items()
    if kind == "bool":
        found = [matches(part, doc_id, source) for part in body.get("should", ())]
        return (
            all(matches(part, doc_id, source) for key in ("filter", "must") for part in body.get(key, ()))
            and not any(matches(part, doc_id, source) for part in body.get("must_not", ()))
            and sum(found) >= body.get("minimum_should_match", 0)
        )
    if kind == "script_score":
        return matches(body["query"], doc_id, source)
    if kind in ("match_all", "match_none"):
        return kind == "match_all"
    if kind == "ids":
        return doc_id in body["values"]
    if kind == "exists":
        return bool(values(source, body["field"]))
    ((field, asked),) = body.items()
    if kind == "range":
        tests: dict[str, Callable[[Any, Any], bool]] = {
            "lt": lambda a, b: a < b, "lte": lambda a, b: a <= b, "gt": lambda a, b: a > b, "gte": lambda a, b: a >= b,
        }  # fmt: skip
        return any(all(tests[op](ordered(v), ordered(b)) for op, b in asked.items()) for v in values(source, field))
    if kind == "terms":
        return any(v in asked for v in values(source, field))
    assert kind == "term", kind
    if field.startswith("field_"):
        return frequency(source, field, asked["value"]) > 0
    return asked in values(source, field)


def ordered(value: Any) -> Any:
    """Keywords are ordered by their UTF-8 bytes."""
    return value.encode() if isinstance(value, str) else value


def frequency(source: Source, field: str, token: str) -> int:
    """How often a token of a `delimited_term_freq` field stands in a document."""
    counts = dict(part.split("|") for part in str(source.get(field, "")).split())
    return int(counts.get(token, 0))


def score(query: Mapping[str, Any], doc_id: str, source: Source, rough: Callable[[str], float]) -> float:
    """The sum over the clauses that score."""
    ((kind, body),) = query.items()
    if kind == "bool":
        parts = [*body.get("should", ()), *body.get("must", ())]
        return sum(score(part, doc_id, source, rough) for part in parts if matches(part, doc_id, source))
    if kind == "script_score":
        return rough(doc_id)
    if kind == "term":
        ((field, asked),) = body.items()
        return float(asked["boost"]) * frequency(source, field, asked["value"]) if field.startswith("field_") else 0.0
    return 0.0
