"""The read side of a collection in a cluster: one point in time, or the last refresh, and the documents seen in it.

Fusion and reranking speak of documents by number. Here numbers are given out as documents appear in answers; they mean
something within one reader only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import Document
from zipfian.collection.settings import Settings
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.codes import LegCode
from zipfian.engines.opensearch.documents import document, unpack
from zipfian.engines.opensearch.errors import EngineRefused, EngineUnavailable
from zipfian.engines.opensearch.filters import Query, to_query
from zipfian.engines.opensearch.mapping import SEQUENCE, STORED, vector_field
from zipfian.errors import InvalidInput

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

PAGE = 10_000
"""Hits of one request: the server's default limit."""
EAGER = 100
"""Up to so many hits bring their documents along; more are read when asked for."""
PAUSES_S = (0.1, 0.5, 1.0)
"""Between tries of a read."""
IDS_AT_ONCE = 1_000
DEFAULT_CLAUSES = 1_024


class Reader:
    """Searches an index. With a point in time, everything it answers belongs together."""

    def __init__(
        self, client: Client, settings: Settings, codes: Mapping[str, LegCode], dims: Mapping[str, int]
    ) -> None:
        self.client = client
        self.settings = settings
        self.codes = codes
        self.dims = dims
        self.where = str(client.address)
        self._pit: str | None = None
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._documents: dict[int, Document] = {}
        self._lock = threading.Lock()
        self._clauses: int | None = None

    @property
    def index(self) -> str:
        return self.client.address.index

    @contextmanager
    def pinned(self, keep_alive: str = "5m") -> Iterator[Reader]:
        """All requests inside see the same documents and statistics."""
        made = self.client.call("POST", f"/{self.index}/_search/point_in_time", None, {"keep_alive": keep_alive})
        self._pit = str(made["pit_id"])
        try:
            yield self
        finally:
            pit, self._pit = self._pit, None
            try:
                self.client.call("DELETE", "/_search/point_in_time", {"pit_id": [pit]})
            except (EngineUnavailable, EngineRefused):
                pass  # it ends by itself after a few minutes

    # ------------------------------------------------------------------ requests

    def ask(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """One search with statistics over all shards; its hits."""
        params: dict[str, Any] = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": False}
        path = f"/{self.index}/_search"
        if self._pit is not None:
            body = {**body, "pit": {"id": self._pit}}
            path = "/_search"
        hits: list[dict[str, Any]] = self._again(path, body, params)["hits"]["hits"]
        return hits

    def _again(self, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        """A read is asked again while a node leaves the cluster; a point in time is gone with the node that held it."""
        for pause in PAUSES_S if self._pit is None else ():
            try:
                return self.client.call("POST", path, body, params)
            except EngineUnavailable:
                time.sleep(pause)
        return self.client.call("POST", path, body, params)

    def top(self, query: Query, k: int) -> tuple[Ints, F64]:
        """The k best documents and their scores; equal scores by document order."""
        if k <= PAGE:
            return self._page(query, k, None)[:2]
        docs: list[Ints] = []
        scores: list[F64] = []
        after: list[Any] | None = None
        with self.pinned() if self._pit is None else _same(self):
            while k > 0:
                found, values, after = self._page(query, min(k, PAGE), after)
                docs.append(found)
                scores.append(values)
                k -= PAGE
                if len(found) < PAGE:
                    break
        return np.concatenate(docs), np.concatenate(scores)

    def _page(self, query: Query, size: int, after: list[Any] | None) -> tuple[Ints, F64, list[Any] | None]:
        body: dict[str, Any] = {
            "size": size,
            "query": query,
            "sort": [{"_score": "desc"}, {SEQUENCE: "asc"}],
            "track_total_hits": False,
            "_source": [STORED] if size <= EAGER else False,
        }
        if after is not None:
            body["search_after"] = after
        hits = self.ask(body)
        numbers = self.numbers([hit["_id"] for hit in hits])
        for number, hit in zip(numbers.tolist(), hits, strict=True):
            if "_source" in hit:
                self._documents[number] = document(hit["_id"], hit["_source"], self.where)
        scores = np.array([hit["sort"][0] for hit in hits], np.float64)
        return numbers, scores, hits[-1]["sort"] if hits else None

    def scores(self, query: Query, docs: Ints) -> F64:
        """Scores of given documents, 0.0 where the query does not match."""
        found: dict[str, float] = {}
        for ids in _chunks(self.ids_of(docs)):
            body = {"size": len(ids), "query": _only(query, ids), "_source": False, "track_total_hits": False}
            found.update((hit["_id"], float(hit["_score"])) for hit in self.ask(body))
        return np.array([found.get(i, 0.0) for i in self.ids_of(docs)], np.float64)

    def explanation(self, query: Query, doc: int) -> Mapping[str, Any] | None:
        """The engine's own account of a score, with global statistics; None if the query does not match."""
        body = {"size": 1, "query": _only(query, self.ids_of([doc])), "explain": True, "_source": False}
        hits = self.ask(body)
        return hits[0]["_explanation"] if hits else None

    def frequencies(self, queries: Sequence[Query]) -> Ints:
        """How many documents each of some queries matches, in one request."""
        filters = {str(i): query for i, query in enumerate(queries)}
        body = {"size": 0, "aggs": {"df": {"filters": {"filters": filters}}}}
        answer = self.client.call("POST", f"/{self.index}/_search", body)
        buckets = answer["aggregations"]["df"]["buckets"]
        return np.array([buckets[str(i)]["doc_count"] for i in range(len(queries))], np.int64)

    def max_clauses(self) -> int:
        """The cluster's limit on the clauses of a query."""
        if self._clauses is None:
            name = "indices.query.bool.max_clause_count"
            answer = self.client.call(
                "GET", "/_cluster/settings", None, {"include_defaults": True, "flat_settings": True}
            )
            levels = [answer.get(level, {}) for level in ("transient", "persistent", "defaults")]
            self._clauses = int(next((level[name] for level in levels if name in level), DEFAULT_CLAUSES))
        return self._clauses

    # ------------------------------------------------------------------ documents

    def mask(self, where: Mapping[str, Any] | None) -> Query | None:
        """A `where` as a query."""
        return None if where is None else to_query(where, self.settings.fields)

    def count(self, mask: Query | None) -> int:
        """Documents that a filter allows."""
        body = None if mask is None else {"query": mask}
        return int(self.client.call("POST", f"/{self.index}/_count", body)["count"])

    def numbers(self, ids: Iterable[str]) -> Ints:
        """Numbers of documents, given out on first sight."""
        out = []
        with self._lock:
            for i in ids:
                number = self._numbers.setdefault(i, len(self._ids))
                if number == len(self._ids):
                    self._ids.append(i)
                out.append(number)
        return np.array(out, np.int64)

    def ids_of(self, numbers: Iterable[int]) -> list[str]:
        return [self._ids[int(n)] for n in numbers]

    def present(self, ids: Sequence[str]) -> list[bool]:
        """Which documents are there, as of the last refresh."""
        out: list[bool] = []
        for part in _chunks(list(ids)):
            found = self.client.call(
                "POST", f"/{self.index}/_mget", {"ids": part}, {"_source": False, "realtime": False}
            )
            out += [bool(d.get("found")) for d in found["docs"]]
        return out

    def number(self, doc_id: str) -> int:
        """The number of a document that must be there."""
        if not self.present([doc_id])[0]:
            raise InvalidInput(f"there is no document {doc_id!r} in {self.where} (as of the last commit)")
        return int(self.numbers([doc_id])[0])

    def document(self, number: int) -> Document:
        """The stored document; fetched now unless an answer brought it along."""
        found = self._documents.get(number)
        if found is None:
            doc_id = self._ids[number]
            loaded = self.get(doc_id)
            if loaded is None:
                raise InvalidInput(f"document {doc_id!r} was deleted since it was found")
            found = self._documents[number] = loaded
        return found

    def get(self, doc_id: str) -> Document | None:
        """A document by id, as of the last refresh."""
        found = self.client.call("POST", f"/{self.index}/_mget", {"ids": [doc_id]}, {"realtime": False})["docs"][0]
        return document(doc_id, found["_source"], self.where) if found.get("found") else None

    def loader(self, number: int) -> Callable[[], Document]:
        return lambda: self.document(number)

    def vectors(self, docs: Iterable[int], name: str) -> npt.NDArray[np.float32]:
        """Pooled vectors of documents; a row of NaN where one has none."""
        dim = self.dims.get(name)
        if dim is None:
            raise InvalidInput(f"{self.where} has no vectors {name!r}; it has: {', '.join(self.dims) or 'none'}")
        field = vector_field(name, dim)
        wanted = self.ids_of(docs)
        rows = np.full((len(wanted), dim), np.nan, np.float32)
        places = {doc_id: i for i, doc_id in enumerate(wanted)}
        for ids in _chunks(wanted):
            body = {"size": len(ids), "query": {"ids": {"values": ids}}, "stored_fields": [field]}
            for hit in self.ask(body):
                for packed in hit.get("fields", {}).get(field, []):
                    rows[places[hit["_id"]]] = unpack(packed)
        return rows


@contextmanager
def _same(reader: Reader) -> Iterator[Reader]:
    yield reader


def _only(query: Query, ids: list[str]) -> Query:
    """A query over some documents; its scores do not change."""
    return {"bool": {"must": [query], "filter": [{"ids": {"values": ids}}]}}


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield ids[start : start + IDS_AT_ONCE]
