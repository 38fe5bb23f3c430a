"""`OpenSearchCollection`: the verbs of `Collection` on an index of an OpenSearch cluster.

What cannot be the same, and says so when it is tried:

- a document is durable as soon as `add` returns, and visible with `commit` (or the index's refresh interval); there is
  no `rollback`, no older generation, and no data attached to a commit;
- the formula of a leg is part of the index: no `scoring=` per search, no `add_leg`;
- lengths are stored in one byte, and N counts documents that have the leg: scores with b > 0 are close, not equal;
- a leg of vectors is searched by comparing all of them on the nodes: exact, and linear in the documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.collection.following import Synced, follow
from zipfian.collection.items import check_id
from zipfian.collection.legs import Leg, make_legs
from zipfian.collection.model import QueryMode
from zipfian.collection.question import Question
from zipfian.collection.results import Document, Results
from zipfian.collection.search import check_bonus
from zipfian.collection.settings import Settings
from zipfian.collection.store import Existing, Skipped
from zipfian.collection.trust import Trust
from zipfian.encode.cache import EncodingCache
from zipfian.encode.images import ImageSource
from zipfian.engines.opensearch import models
from zipfian.engines.opensearch.address import Address
from zipfian.engines.opensearch.bulk import Bulk, BulkSettings, Outcome
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.codes import Storage
from zipfian.engines.opensearch.documents import deletion
from zipfian.engines.opensearch.export import stored_items
from zipfian.engines.opensearch.legquery import leg_query, no_faiss, no_formula
from zipfian.engines.opensearch.mapping import SEQUENCE, Layout, read, vector_dims
from zipfian.engines.opensearch.reader import PAGE, SCAN_DOCUMENTS, Reader, check_scan
from zipfian.engines.opensearch.running import cluster_plan, explain_id, run
from zipfian.engines.opensearch.writing import Writing
from zipfian.errors import FingerprintMismatch, InvalidInput, ReadOnly
from zipfian.explain.terms import compare
from zipfian.fuse.methods import Method
from zipfian.index.check import CheckReport
from zipfian.index.directory import FSDirectory
from zipfian.index.metadata import FieldType
from zipfian.index.snapshot import Snapshot
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.validate import check_k
from zipfian.types import Explanation


class OpenSearchCollection:
    """A collection in a cluster. Any number of readers and writers may have it open."""

    def __init__(
        self, client: Client, layout: Layout, fields: Mapping[str, FieldType], dims: Mapping[str, int],
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
        self._writing = Writing(client, layout, fields, dims, bulk, encodings)

    @classmethod
    def create(
        cls,
        address: str,
        legs: Sequence[str] | Mapping[str, Leg] | None = None,
        *,
        shards: int = 3,
        replicas: int = 1,
        refresh: str = "-1",
        storage: Mapping[str, Storage] | None = None,
        timeout: float = 30.0,
        bulk: BulkSettings | None = None,
        verify_certs: bool = True,
        ca_certs: str | os.PathLike[str] | None = None,
        scan_documents: int = SCAN_DOCUMENTS,
        encodings: EncodingCache | bool = True,
        pictures: Any = (),
    ) -> OpenSearchCollection:
        """Make a new index and open it for writing.

        Parameters
        ----------
        address
            `opensearch://host:9200/name`; several hosts separated by commas; `opensearchs://` for TLS.
        legs
            As for `Collection.create`.
        shards, replicas, refresh
            Settings of the index; a refresh of '-1' makes documents visible by `commit` only.
        storage
            How a leg is stored, by name: 'frequencies', 'repeated' (servers without term frequencies) or 'features'
            (real weights, for `Dot`). By default the most faithful form the server has.
        timeout
            Seconds for one request.
        bulk
            How documents are sent.
        verify_certs, ca_certs
            For TLS: whether the server must prove who it is, and a file of the authorities to believe (else
            `ZIPFIAN_OPENSEARCH_CA`, else the usual public ones).
        scan_documents
            Vectors that one search may compare; more are an error, since it would take long.
        pictures
            As for `Collection.create`.
        """
        check_scan(scan_documents)
        client = Client(Address.parse(address), timeout, verify_certs, ca_certs)
        settings = Settings(make_legs(legs), trust=Trust.of((), pictures))
        layout = Layout.choose(settings, client.server, storage, shards, replicas, refresh)
        client.call("PUT", f"/{client.address.index}", layout.body())
        try:
            models.keep(client, settings.legs, replicas)
        except BaseException:
            client.call("DELETE", f"/{client.address.index}")  # it could not be searched
            raise
        return cls(client, layout, {}, {}, "w", bulk or BulkSettings(), _cache(encodings), scan_documents)

    @classmethod
    def open(
        cls,
        address: str,
        mode: Literal["r", "w"] = "r",
        *,
        timeout: float = 30.0,
        bulk: BulkSettings | None = None,
        verify_certs: bool = True,
        ca_certs: str | os.PathLike[str] | None = None,
        scan_documents: int = SCAN_DOCUMENTS,
        encodings: EncodingCache | bool = True,
        trust: Any = (),
        pictures: Any = (),
    ) -> OpenSearchCollection:
        """Open an index that zipfian made; one that was changed, or made with other models, is refused.

        Settings and metadata in a cluster are no more trusted than those in a folder: `trust` and `pictures` are as for
        `Collection.open`.
        """
        if mode not in ("r", "w"):
            raise InvalidInput(f"mode must be 'r' or 'w', not {mode!r}")
        client = Client(Address.parse(address), timeout, verify_certs, ca_certs)
        layout, fields, dims = _look(client, Trust.of(trust, pictures))
        return cls(client, layout, fields, dims, mode, bulk or BulkSettings(), _cache(encodings), scan_documents)

    # ------------------------------------------------------------------ writing

    def add(
        self, items: Iterable[Mapping[str, Any]], existing: Existing = "error",
        progress: Callable[[int], None] | None = None, skipped: Skipped | None = None,
    ) -> int:  # fmt: skip
        """Send documents; returns how many the cluster has acknowledged, and they are safe from then on.

        As `Collection.add`. Documents the cluster rejects are listed, with reasons, in the `DocumentsRejected` that is
        raised when all others are in. After an interruption, run the same again with `existing='skip'`.
        """
        return self._writer().put(items, existing, progress, skipped)

    def copy_from(
        self, path: str | os.PathLike[str], existing: Existing = "replace",
        progress: Callable[[int], None] | None = None,
    ) -> int:  # fmt: skip
        """Take over all documents of a collection in a folder; returns how many.

        Terms and vectors come as they are stored there, so nothing is encoded again; the legs must be the same. After
        an interruption, run it again with `existing='skip'`.
        """
        writer = self._writer()
        with Snapshot.open(FSDirectory(path)) as snapshot:
            theirs = Settings.from_json(snapshot.settings, os.fspath(path)).legs
            for name, leg in theirs.items():
                own = self._layout.settings.legs.get(name)
                if own != leg:
                    raise FingerprintMismatch(
                        f"leg {name!r} of {os.fspath(path)} is not the one of this index: create the index with "
                        "legs=Collection.open(path).legs"
                    )
            return writer.put_stored(stored_items(snapshot, theirs), existing, progress)

    def upsert(self, items: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None) -> int:
        """Add documents, replacing those with the same id."""
        return self.add(items, "replace", progress)

    def delete(self, ids: Iterable[str]) -> int:
        """Remove documents by id; returns how many were there."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InvalidInput("delete takes an iterable of ids; put a single id into a list")
        writer = self._writer()
        wanted = dict.fromkeys(check_id(i) for i in ids)
        with Bulk(self._client, self._client.address.index, writer.bulk) as bulk:
            for doc_id in wanted:
                bulk.put(deletion(doc_id))
        return bulk.outcome.deleted

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

    def add_leg(
        self, name: str, leg: Leg, terms: Mapping[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Not possible: a leg's similarity is part of the index."""
        raise InvalidInput(
            f"leg {name!r} cannot be added to an index that exists: add it to a collection in a folder, create a new "
            "index with its legs, and copy_from it"
        )

    def sync(self, source: Any, **options: Any) -> Synced:
        """Follow a folder or a file of records, as `Collection.sync` does; arguments as for `sync` there."""
        return follow(self, source, options)

    def merge(self, max_segments: int = 1) -> None:
        """Join segments; deleted documents then leave the statistics, too."""
        self._writer()
        params = {"max_num_segments": max_segments, "flush": True}
        self._client.call("POST", f"/{self._client.address.index}/_forcemerge", None, params, request_timeout=3600)
        self._client.call("POST", f"/{self._client.address.index}/_refresh")

    # ------------------------------------------------------------------ reading

    def search(
        self,
        asked: Any = None,
        /,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        image: ImageSource | None = None,
        leg: str | None = None,
        method: str | Method | None = None,
        preset: str | None = None,
        scoring: Scoring | None = None,
        query: QueryMode | None = None,
        K: int | AdaptiveK | None = None,
        ann: str | None = None,
        exact_match_bonus: float = 0.0,
    ) -> Results:
        """The k best documents; as `Collection.search`. All legs of one search see one point in time."""
        check_k(k)
        no_formula(scoring)
        no_faiss(ann)
        check_bonus(exact_match_bonus)
        reader, question = self.reader(), Question.of(asked, image, query)
        plan = cluster_plan(reader, question, k=k, leg=leg, method=method, preset_name=preset, depth=K)
        return run(reader, question, plan, k, where, self._commits, exact_match_bonus)

    def score(
        self, leg: str, asked: Any, ids: Sequence[str], where: Mapping[str, Any] | None = None,
        scoring: Scoring | None = None, *, image: ImageSource | None = None, query: QueryMode | None = None,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Scores of given documents in one leg; 0.0 without a shared term, NaN where `where` excludes one."""
        if isinstance(ids, str):
            raise InvalidInput("score takes a sequence of ids; put a single id into a list")
        reader = self.reader()
        prepared = leg_query(reader, leg, Question.of(asked, image, query), scoring)
        docs = reader.numbers([check_id(i) for i in ids])
        scores = prepared.score(docs)
        mask = reader.mask(where)
        if mask is not None:
            scores[reader.scores({"constant_score": {"filter": mask}}, docs) == 0.0] = np.nan
        return scores

    def explain(
        self, asked: Any, id: str, *, image: ImageSource | None = None, leg: str | None = None,
        method: str | Method | None = None, preset: str | None = None, scoring: Scoring | None = None,
        query: QueryMode | None = None,
    ) -> Explanation:  # fmt: skip
        """Why a document scores what it scores: the engine's own numbers as a tree whose parts sum to the score."""
        no_formula(scoring)
        reader, question = self.reader(), Question.of(asked, image, query)
        plan = cluster_plan(reader, question, leg=leg, method=method, preset_name=preset)
        return explain_id(reader, question, plan, check_id(id))

    def why(self, asked: Any, id_a: str, id_b: str, **options: Any) -> Explanation:
        """Which terms put A above B (or B above A); `options` are those of `explain`."""
        a, b = (self.explain(asked, i, **options) for i in (id_a, id_b))
        return compare(a, b, id_a, id_b)

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
        row = reader.vectors([reader.number(check_id(id))], name)[0] if name in reader.dims else None
        return None if row is None or np.isnan(row).all() else row

    def ids(self) -> Iterator[str]:
        """All ids, in document order (that of the last upsert), as of now."""
        reader = self.reader()
        with reader.pinned():
            after: list[Any] | None = None
            while True:
                body: dict[str, Any] = {
                    "size": PAGE,
                    "sort": [{SEQUENCE: "asc"}],
                    "_source": False,
                }
                if after is not None:
                    body["search_after"] = after
                hits = reader.ask(body)
                yield from (hit["_id"] for hit in hits)
                if len(hits) < PAGE:
                    return
                after = hits[-1]["sort"]

    def __len__(self) -> int:
        return self.reader().count(None)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(id) and self.reader().present([id])[0]

    @property
    def fields(self) -> Mapping[str, str]:
        """Metadata fields and their types."""
        return dict(self.reader().settings.fields)

    @property
    def legs(self) -> Mapping[str, Leg]:
        """Posting sets and their settings."""
        return dict(self.reader().settings.legs)

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
        """See metadata fields that other writers have added; documents are seen as soon as they are visible."""
        self.reader()
        _, fields, dims = _look(self._client, self._layout.settings.trust)
        self._writing.learn(fields, dims)
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

    def __enter__(self) -> OpenSearchCollection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<OpenSearchCollection {str(self._client.address)!r}{': closed' if self._closed else ''}>"

    def _writer(self) -> Writing:
        self.reader()
        if self._mode != "w":
            raise ReadOnly("this collection is open for reading: open(address, mode='w')")
        return self._writing


def _look(client: Client, trust: Trust) -> tuple[Layout, dict[str, FieldType], dict[str, int]]:
    """What the index says about itself now."""
    found = client.call("GET", f"/{client.address.index}")
    if len(found) != 1:
        raise InvalidInput(f"{client.address}: the name stands for {len(found)} indices; name one")
    entry = next(iter(found.values()))
    layout, fields = read(entry, str(client.address), trust)
    layout = replace(layout, settings=layout.settings.finding(models.finder(client)))
    return layout, fields, vector_dims(entry["mappings"].get("properties", {}), str(client.address))


def _cache(encodings: Any) -> EncodingCache | None:
    if isinstance(encodings, EncodingCache):
        return encodings
    if not isinstance(encodings, bool):
        raise InvalidInput(f"encodings must be an EncodingCache, True or False, not {encodings!r:.80}")
    return EncodingCache() if encodings else None
