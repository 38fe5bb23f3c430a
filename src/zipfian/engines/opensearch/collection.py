"""`OpenSearchCollection`: the verbs of `Collection` on an index of an OpenSearch cluster.

What cannot be the same, and says so when it is tried:

- a document is durable as soon as `add` returns, and visible with `commit` (or the index's refresh interval); there is
  no `rollback`, no older generation, and no data attached to a commit;
- the formula of a field is part of the index: no `scoring=` per search, no `add_field`;
- lengths are stored in one byte, and N counts documents that have the field: scores with b > 0 are close, not equal;
- a field of vectors is searched by comparing all of them on the nodes: exact, and linear in the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from zipfian.collection.ahead import Waiting
from zipfian.collection.collection import Collection
from zipfian.collection.facets import Facet
from zipfian.collection.items import check_id, check_vector_name
from zipfian.collection.results import Document
from zipfian.collection.search import Answers
from zipfian.collection.store import Existing, Skipped
from zipfian.collection.terms import TermList, TermPage
from zipfian.collection.trust import Trust
from zipfian.encode.cache import EncodingCache
from zipfian.engines.opensearch import models
from zipfian.engines.opensearch.bulk import Bulk, BulkSettings, Outcome
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.documents import deletion
from zipfian.engines.opensearch.filters import to_query
from zipfian.engines.opensearch.looking import facets, labelled_terms, term_page
from zipfian.engines.opensearch.mapping import Layout, read, vector_dims
from zipfian.engines.opensearch.reader import PAGE, SCAN_DOCUMENTS, Reader, check_scan
from zipfian.engines.opensearch.retrievers import make_retriever
from zipfian.engines.opensearch.running import ClusterAnswers, cluster_plan, explain_id
from zipfian.engines.opensearch.writing import Writing
from zipfian.errors import EngineUnavailable, InvalidInput, ReadOnly
from zipfian.fields.base import Field
from zipfian.fields.item import Item
from zipfian.fields.query import Query
from zipfian.index.check import CheckReport
from zipfian.index.metadata import ColumnType
from zipfian.retrieve.scoring import Scoring
from zipfian.types import Explanation

LONG_S = 3600
"""Seconds for a request that the cluster may take long over."""


class OpenSearchCollection(Collection):
    """A collection in a cluster; `Collection` says what each verb does.

    Any number of readers and writers may have it open.

    `create` and `open` of `zipfian.engines.opensearch` make one.
    """

    def __init__(
        self, client: Client, layout: Layout, columns: Mapping[str, ColumnType], dims: Mapping[str, int],
        mode: Literal["r", "w"], bulk: BulkSettings, encodings: EncodingCache | None,
        scan_documents: int = SCAN_DOCUMENTS,
    ) -> None:  # fmt: skip
        """Use `create` or `open`."""
        self._scan_documents = check_scan(scan_documents)
        self._client = client
        self._layout = layout
        self._mode = mode
        self._closed = False
        self._commits = 0
        self._writing = Writing(client, layout, columns, dims, bulk, encodings)

    # ------------------------------------------------------------------ writing

    def _put(
        self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None, skipped: Skipped | None
    ) -> int:
        return self._writer().put(items, existing, progress, skipped)

    def ahead(self, texts: Sequence[str]) -> Waiting:
        return self._writer().encoding.ahead(texts)

    def _update(self, items: Iterable[Any], progress: Callable[[int], None] | None) -> int:
        return self._writer().update(items, self.reader(), progress)

    def _put_stored(self, items: Iterable[Item], existing: Existing, progress: Callable[[int], None] | None) -> int:
        return self._writer().put_stored(items, existing, progress)

    def _delete(self, ids: Iterable[Any]) -> int:
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InvalidInput("delete takes an iterable of ids; put a single id into a list")
        writer = self._writer()
        wanted = dict.fromkeys(check_id(i) for i in ids)
        with Bulk(self._client, self._client.address.index, writer.bulk) as bulk:
            for doc_id in wanted:
                bulk.put(deletion(doc_id))
        return bulk.outcome.deleted

    def _delete_where(self, where: Mapping[str, Any]) -> int:
        writer, index = self._writer(), self._client.address.index
        query = to_query(where, writer.settings.columns)
        self._client.call("POST", f"/{index}/_refresh")  # a filter sees only what is visible
        body, params = {"query": query}, {"conflicts": "proceed"}
        answer = self._client.call("POST", f"/{index}/_delete_by_query", body, params, request_timeout=LONG_S)
        if answer.get("failures"):
            raise EngineUnavailable(
                f"{self._client.address}: {answer['deleted']} documents were deleted, and then a shard failed; "
                "delete with the same filter again"
            )
        return int(answer["deleted"])

    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        """Make all changes visible; returns how often this object has done so."""
        if user is not None:
            raise InvalidInput("an index keeps no data with a commit; put it into a document")
        self._writer()
        self._client.call("POST", f"/{self._client.address.index}/_refresh")
        self._commits += 1
        return self._commits

    def rollback(self) -> None:
        """Not possible: documents are durable when `add` returns."""
        raise InvalidInput("a cluster keeps what it acknowledged: delete the documents instead")

    def _add_field(
        self, name: str, field: Field, terms: Mapping[str, Any] | None, progress: Callable[[int], None] | None
    ) -> None:
        raise InvalidInput(
            f"field {name!r} cannot be added to an index that exists: add it to a collection in a folder, create a new "
            "index with its fields, and copy_from it"
        )

    def merge(self, max_segments: int = 1) -> None:
        """Join segments; deleted documents then leave the statistics, too."""
        self._writer()
        params = {"max_num_segments": max_segments, "flush": True}
        self._client.call("POST", f"/{self._client.address.index}/_forcemerge", None, params, request_timeout=LONG_S)
        self._client.call("POST", f"/{self._client.address.index}/_refresh")

    # ------------------------------------------------------------------ reading

    def _answers(self) -> Answers:
        self.reader()
        return ClusterAnswers(self.reader, self._commits)

    def _score(
        self,
        field: str,
        query: Query,
        ids: Sequence[str],
        where: Mapping[str, Any] | None,
        scoring: Scoring | None,
    ) -> npt.NDArray[np.float64]:
        reader = self.reader()
        reader.settings.read(query)
        query.check(field, reader.settings.field(field))
        prepared = make_retriever(reader, field, query, scoring)
        docs = reader.numbers([check_id(i) for i in ids])
        scores = prepared.score(docs)
        mask = reader.mask(where)
        if mask is not None:
            scores[reader.scores({"constant_score": {"filter": mask}}, docs) == 0.0] = np.nan
        return scores

    def _explain(self, query: Query, doc_id: str, how: Mapping[str, Any]) -> Explanation:
        reader = self.reader()
        return explain_id(reader, query, cluster_plan(reader, query, **how), check_id(doc_id))

    def _facets(self, names: Sequence[str], where: Mapping[str, Any] | None, limit: int) -> dict[str, Facet]:
        return facets(self.reader(), names, where, limit)

    def _term(self, field: str, term: str | int, k: int) -> TermPage:
        return term_page(self.reader(), self.search, field, term, k)

    def _terms(self, field: str, find: str | None, limit: int, offset: int) -> TermList:
        return labelled_terms(self.reader(), field, find, limit, offset)

    def searcher(self) -> NoReturn:
        """Not possible: what `reader` gives is the read side of a cluster."""
        raise InvalidInput("a collection in a cluster has no snapshot of files: use reader()")

    def reader(self) -> Reader:
        """A fresh reader; `with reader.pinned():` makes several searches see the same state."""
        if self._closed:
            raise InvalidInput("this collection is closed; open it again")
        return Reader(
            self._client, self._writing.settings, self._layout.codes, self._writing.dims, self._scan_documents
        )

    def get(self, id: str) -> Document | None:
        """The stored document as of the last commit, or None."""
        return self.reader().get(check_id(id))

    def picture(self, id: str) -> bytes | None:
        """The file of a document's picture, None where it has none; an error where it may not be opened."""
        found = self.get(id)
        return None if found is None else self._layout.settings.trust.picture(found.metadata)

    def vector(self, id: str, name: str = "default") -> npt.NDArray[np.float32] | None:
        """A document's pooled vector, or None."""
        reader = self.reader()
        row = reader.vectors([reader.number(check_id(id))], name)[0] if check_vector_name(name) in reader.dims else None
        return None if row is None or np.isnan(row).all() else row

    def ids(self) -> Iterator[str]:
        return (hit["_id"] for hit in self.reader().pages(None, PAGE, False))

    def _documents(self, where: Mapping[str, Any] | None = None) -> Iterator[Document]:
        reader = self.reader()
        return reader.stored(reader.mask(where))

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        reader = self.reader()
        return reader.count(reader.mask(where))

    def _present(self, ids: Sequence[str]) -> list[bool]:
        return self.reader().present(ids)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(id) and self.reader().present([id])[0]

    @property
    def columns(self) -> Mapping[str, str]:
        """Metadata columns and their types."""
        return dict(self.reader().settings.columns)

    @property
    def fields(self) -> Mapping[str, Field]:
        """Posting sets and their settings."""
        return dict(self.reader().settings.fields)

    @property
    def generation(self) -> int:
        """How often this object has committed."""
        return self._commits

    @property
    def last(self) -> Outcome:
        """What became of the documents of the last `add`: taken, present, rejected, requests sent again."""
        return self._writing.last

    @property
    def user(self) -> Mapping[str, Any]:
        """Nothing: an index keeps no data with a commit."""
        self.reader()
        return {}

    def refresh(self) -> int:
        """See metadata columns that other writers have added; documents are seen as soon as they are visible."""
        self.reader()
        self._layout, columns, dims = look(self._client, self._layout.settings.trust)
        self._writing.learn(self._layout, columns, dims)
        return self._commits

    def stats(self) -> dict[str, Any]:
        """Documents, shards, bytes, and what storing weights as whole numbers cost."""
        from zipfian.engines.opensearch.stats import collect

        return collect(self.reader(), self._layout, self._writing.losses)

    def check(self) -> CheckReport:
        """Not possible: the files are the cluster's, which checks them when it reads and copies them."""
        raise InvalidInput("the files of an index belong to the cluster, which checks them itself: look at stats()")

    def close(self) -> None:
        """Give the connections back."""
        if not self._closed:
            self._closed = True
            self._client.close()

    def _place(self) -> str:
        return str(self._client.address)

    def __repr__(self) -> str:
        return f"<OpenSearchCollection {str(self._client.address)!r}{': closed' if self._closed else ''}>"

    def _writer(self) -> Writing:
        self.reader()
        if self._mode != "w":
            raise ReadOnly("this collection is open for reading: open(address, mode='w')")
        return self._writing


def look(client: Client, trust: Trust) -> tuple[Layout, dict[str, ColumnType], dict[str, int]]:
    """What the index says about itself now."""
    found = client.call("GET", f"/{client.address.index}")
    if len(found) != 1:
        raise InvalidInput(f"{client.address}: the name stands for {len(found)} indices; name one")
    entry = next(iter(found.values()))
    layout, columns = read(entry, str(client.address), trust)
    layout = replace(layout, settings=layout.settings.finding(models.finder(client)))
    return layout, columns, vector_dims(entry["mappings"].get("properties", {}), str(client.address))
