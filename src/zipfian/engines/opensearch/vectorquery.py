"""A field of pooled vectors in a cluster: compared on the nodes, without a plugin, and scored exactly by the client."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.retrievers import explain_cosine
from zipfian.engines.opensearch.filters import Clause
from zipfian.engines.opensearch.mapping import vector_field
from zipfian.engines.opensearch.reader import Reader
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.explain.highlight import Snippet, highlight
from zipfian.fields.query import Query
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.validate import check_k
from zipfian.types import Explanation

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SPARE = 16
"""Candidates of a scan beyond k: what 32 bits put in another order is sorted out here."""
SCAN_ERROR = 1e-6
"""More than a 32-bit score between 0 and 2 can be off."""


class VectorRetriever:
    """A field of pooled vectors. The nodes compare all of them in 32 bits; the best are scored here, in 64."""

    def __init__(self, reader: Reader, name: str, query: Query) -> None:
        self.name = name
        self.field = reader.settings.vectors(name)
        self._reader = reader
        self._stored = self.field.stored_as(name)
        self._dim = reader.dims.get(self._stored, 0)
        self.vector = self.field.vector_of(query)
        if self._dim not in (0, len(self.vector)):
            raise InvalidInput(
                f"the vectors of field {name!r} have {self._dim} numbers, the query's has {len(self.vector)}"
            )

    def search(self, k: int, mask: Clause | None) -> tuple[Ints, F64]:
        """Exact: candidates are asked for until none that is left out can reach the k-th best."""
        size = check_k(k)
        there = self.n_scored(mask)
        if there > self._reader.scan_documents:
            raise LimitExceeded(
                f"field {self.name!r} would compare {there:,} vectors one by one, the limit is "
                f"{self._reader.scan_documents:,}: let it rerank (method='two-stage'), give the collection a scalar "
                "field of the same vectors, filter, or raise scan_documents="
            )
        if not there:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        ready = DenseSearcher.from_array(np.empty((0, self._dim), np.float32)).prepare(self.vector)
        query = scan(vector_field(self._stored, self._dim), ready.vector, mask)
        wanted = size + SPARE
        while True:
            docs, rough = self._reader.top(query, min(wanted, there))
            scores = self.score(docs)
            order = np.lexsort((docs, -scores))[:size]
            if len(docs) == there or scores[order[-1]] > rough[-1] - 1.0 + SCAN_ERROR:
                return docs[order], scores[order]
            wanted *= 2

    def n_scored(self, mask: Clause | None) -> int:
        if not self._dim:
            return 0
        there: Clause = {"exists": {"field": vector_field(self._stored, self._dim)}}
        return self._reader.count({"bool": {"filter": [there] if mask is None else [there, mask]}})

    def coverage(self, best: float) -> float | None:
        return None

    def covered(self, docs: Ints) -> F64:
        return np.zeros(len(docs), np.float64)

    def whole(self) -> float:
        return 1.0

    def vectors(self, docs: Ints) -> npt.NDArray[np.float32]:
        """The stored vectors of documents; NaN where there is none."""
        return self._reader.vectors(docs, self._stored)

    def score(self, docs: Ints) -> F64:
        """By the embedded engine's own arithmetic: the same bits."""
        if not self._dim:
            return np.full(len(docs), np.nan)
        found = DenseSearcher.from_array(self.vectors(docs), name=self.name)
        return found.score(self.vector, np.arange(len(docs)))

    def passage(self, doc: int) -> None:
        """Documents are kept whole here."""

    def explain(self, doc: int, places: bool = True) -> Explanation:
        stored = self._reader.settings.stored(self._reader.document(doc)) if places else None
        return explain_cosine(self, doc, self.field, self.vector, stored)

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        return highlight(self._reader.document(doc).text or "", [], **options)

    def settings(self) -> dict[str, Any]:
        return {"field": self.name, "scoring": {"name": "cosine"}, "engine": "opensearch"}


def scan(stored: str, vector: npt.NDArray[np.float64], mask: Clause | None) -> Clause:
    """1 + cosine of every document that has a vector: no plugin is needed, and nothing is missed."""
    filters: list[Clause] = [{"exists": {"field": stored}}] + ([] if mask is None else [mask])
    script = {"source": _COSINE, "params": {"field": stored, "query": vector.tolist()}}
    return {"script_score": {"query": {"bool": {"filter": filters}}, "script": script}}


_COSINE = """
BytesRef packed = doc[params.field].value; byte[] a = packed.bytes; int at = packed.offset;
List query = params.query; int dim = query.size(); double dot = 0.0; double square = 0.0;
for (int i = 0; i < dim; ++i) {
  double x = Float.intBitsToFloat(
    (a[at] & 255) | ((a[at + 1] & 255) << 8) | ((a[at + 2] & 255) << 16) | ((a[at + 3] & 255) << 24));
  dot += x * (double) query.get(i); square += x * x; at += 4;
}
return square > 0.0 ? Math.max(0.0, 1.0 + dot / Math.sqrt(square)) : 1.0;
"""
"""Scores must not be negative, hence the 1. The query has length 1; vectors are little-endian 32-bit floats."""
