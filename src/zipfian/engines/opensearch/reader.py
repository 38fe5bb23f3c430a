"""The read side of a collection in a cluster: one point in time, or the last refresh, and the documents seen in it.

Fusion and reranking speak of documents by number. Here that is the sequence number of a document's last upsert, so that
numbers ascend in document order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import Document
from zipfian.collection.settings import Settings
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.codes import FieldCode
from zipfian.engines.opensearch.documents import document, unpack
from zipfian.engines.opensearch.filters import Clause, to_query
from zipfian.engines.opensearch.mapping import SEQUENCE, STORED, WORDS, vector_field
from zipfian.errors import EngineRefused, EngineUnavailable, InvalidInput

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
SCAN_DOCUMENTS = 1_000_000
"""Vectors that a search may compare one by one, unless the collection is opened with another limit."""


class Reader:
    """Searches an index. With a point in time, everything it answers belongs together."""

    def __init__(
        self, client: Client, settings: Settings, codes: Mapping[str, FieldCode], dims: Mapping[str, int],
        scan_documents: int = SCAN_DOCUMENTS,
    ) -> None:  # fmt: skip
        self.client = client
        self.settings = settings
        self.codes = codes
        self.dims = dims
        self.scan_documents = scan_documents
        self.where = str(client.address)
        self._pit: dict[str, str] | None = None
        self._ids: dict[int, str] = {}
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
        self._pit = {"id": str(made["pit_id"]), "keep_alive": keep_alive}  # every request of it starts the time anew
        try:
            yield self
        finally:
            pit, self._pit = self._pit, None
            try:
                self.client.call("DELETE", "/_search/point_in_time", {"pit_id": [pit["id"]]})
            except (EngineUnavailable, EngineRefused):
                pass  # it ends by itself after a few minutes

    # ------------------------------------------------------------------ requests

    def ask(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """One search with statistics over all shards; its hits."""
        hits: list[dict[str, Any]] = self._answer(body, search_type="dfs_query_then_fetch")["hits"]["hits"]
        return hits

    def _answer(self, body: dict[str, Any], **params: Any) -> Any:
        """One request, in the point in time where there is one."""
        path = f"/{self.index}/_search"
        if self._pit is not None:
            body = {**body, "pit": self._pit}
            path = "/_search"
        return self._again(path, body, {**params, "allow_partial_search_results": False})

    def _again(self, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        """A read is asked again while a node leaves the cluster; a point in time is gone with the node that held it."""
        for pause in PAUSES_S if self._pit is None else ():
            try:
                return self.client.call("POST", path, body, params)
            except EngineUnavailable:
                time.sleep(pause)
        return self.client.call("POST", path, body, params)

    def top(self, query: Clause, k: int) -> tuple[Ints, F64]:
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

    def _page(self, query: Clause, size: int, after: list[Any] | None) -> tuple[Ints, F64, list[Any] | None]:
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
        numbers = self._learn((hit["_id"], hit["sort"][1]) for hit in hits)
        for number, hit in zip(numbers.tolist(), hits, strict=True):
            if "_source" in hit:
                self._documents[number] = document(hit["_id"], hit["_source"], self.where)
        scores = np.array([hit["sort"][0] for hit in hits], np.float64)
        return numbers, scores, hits[-1]["sort"] if hits else None

    def pages(self, query: Clause | None, size: int, source: Any) -> Iterator[dict[str, Any]]:
        """Every document that a query matches, in document order, some at a time and all as of now."""
        with self.pinned():
            body: dict[str, Any] = {
                "size": size, "sort": [{SEQUENCE: "asc"}], "_source": source, "track_total_hits": False,
            }  # fmt: skip
            if query is not None:
                body["query"] = {"bool": {"filter": [query]}}
            while True:
                hits = self.ask(body)
                yield from hits
                if len(hits) < size:
                    return
                body["search_after"] = hits[-1]["sort"]

    def stored(self, query: Clause | None) -> Iterator[Document]:
        """The documents that a query matches, in document order."""
        return (document(hit["_id"], hit["_source"], self.where) for hit in self.pages(query, EAGER, [STORED]))

    def scores(self, query: Clause, docs: Ints) -> F64:
        """Scores of given documents, 0.0 where the query does not match."""
        found: dict[str, float] = {}
        for ids in _chunks(self.ids_of(docs)):
            body = {"size": len(ids), "query": _only(query, ids), "_source": False, "track_total_hits": False}
            found.update((hit["_id"], float(hit["_score"])) for hit in self.ask(body))
        return np.array([found.get(i, 0.0) for i in self.ids_of(docs)], np.float64)

    def explanation(self, query: Clause, doc: int) -> Mapping[str, Any] | None:
        """The engine's own account of a score, with global statistics; None if the query does not match."""
        body = {"size": 1, "query": _only(query, self.ids_of([doc])), "explain": True, "_source": False}
        hits = self.ask(body)
        return hits[0]["_explanation"] if hits else None

    def frequencies(self, queries: Sequence[Clause]) -> Ints:
        """How many documents each of some queries matches, in one request."""
        filters = {str(i): query for i, query in enumerate(queries)}
        body = {"size": 0, "aggs": {"df": {"filters": {"filters": filters}}}}
        buckets = self._answer(body)["aggregations"]["df"]["buckets"]
        return np.array([buckets[str(i)]["doc_count"] for i in range(len(queries))], np.int64)

    def aggregated(self, mask: Clause | None, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        """Aggregations over the documents that a filter allows."""
        body: dict[str, Any] = {"size": 0, "track_total_hits": False, "aggs": dict(wanted)}
        if mask is not None:
            body["query"] = mask
        found: Mapping[str, Any] = self._answer(body).get("aggregations", {})
        return found

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

    def mask(self, where: Mapping[str, Any] | None) -> Clause | None:
        """A `where` as a query."""
        return None if where is None else to_query(where, self.settings.columns)

    def count(self, mask: Clause | None) -> int:
        """Documents that a filter allows."""
        body: dict[str, Any] = {"size": 0, "track_total_hits": True}
        if mask is not None:
            body["query"] = mask
        return int(self._answer(body)["hits"]["total"]["value"])

    @cached_property
    def mean_words(self) -> float | None:
        """Words of a document on average; None where no field counts them."""
        if not any(field.lexical for field in self.settings.fields.values()):
            return None
        body = {"size": 0, "track_total_hits": True, "aggs": {"words": {"sum": {"field": WORDS}}}}
        answer = self._answer(body)
        return float(answer["aggregations"]["words"]["value"]) / max(1, int(answer["hits"]["total"]["value"]))

    def _learn(self, found: Iterable[tuple[str, int]]) -> Ints:
        """Numbers of documents with given sequence numbers."""
        out = []
        with self._lock:
            for doc_id, sequence in found:
                number = self._numbers.get(doc_id)
                if number is None:
                    number = sequence
                    while number in self._ids:  # two writers in the same nanosecond
                        number += 1
                    self._numbers[doc_id] = number
                    self._ids[number] = doc_id
                out.append(number)
        return np.array(out, np.int64)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """Numbers of documents that must be there, as of the last refresh."""
        for part in _chunks([i for i in ids if i not in self._numbers]):
            params: dict[str, Any] = {"_source": SEQUENCE, "realtime": False}
            docs = self.client.call("POST", f"/{self.index}/_mget", {"ids": part}, params)["docs"]
            missing = next((d["_id"] for d in docs if not d.get("found")), None)
            if missing is not None:
                raise InvalidInput(f"there is no document {missing!r} in {self.where} (as of the last commit)")
            self._learn((d["_id"], d["_source"][SEQUENCE]) for d in docs)
        return np.array([self._numbers[i] for i in ids], np.int64)

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

    def vectors(self, docs: Iterable[int], name: str) -> npt.NDArray[np.float32]:
        """Pooled vectors of documents; a row of NaN where one has none."""
        dim = self.dims.get(name, 0)
        wanted = self.ids_of(docs)
        rows = np.full((len(wanted), dim), np.nan, np.float32)
        if not dim:
            return rows
        stored = vector_field(name, dim)
        places = {doc_id: i for i, doc_id in enumerate(wanted)}
        for ids in _chunks(wanted):
            body = {"size": len(ids), "query": {"ids": {"values": ids}}, "docvalue_fields": [stored], "_source": False}
            for hit in self.ask(body):
                for packed in hit.get("fields", {}).get(stored, []):
                    rows[places[hit["_id"]]] = unpack(packed)
        return rows


def check_scan(documents: int) -> int:
    """A usable limit of vectors to compare."""
    if isinstance(documents, bool) or not isinstance(documents, int) or documents < 0:
        raise InvalidInput(f"scan_documents must be a whole number from 0, not {documents!r}")
    return documents


@contextmanager
def _same(reader: Reader) -> Iterator[Reader]:
    yield reader


def _only(query: Clause, ids: list[str]) -> Clause:
    """A query over some documents; its scores do not change."""
    return {"bool": {"must": [query], "filter": [{"ids": {"values": ids}}]}}


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield ids[start : start + IDS_AT_ONCE]
