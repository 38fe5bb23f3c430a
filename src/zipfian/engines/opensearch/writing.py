"""The write side: documents are checked, encoded, turned into operations and sent, a bounded number at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from zipfian.collection.encoding import Encoding
from zipfian.collection.items import check_item, given_id
from zipfian.collection.settings import Settings
from zipfian.collection.store import Existing, Skipped
from zipfian.collection.stored import folded
from zipfian.collection.updating import changed_inputs, changes, new_metadata, not_there
from zipfian.encode.cache import EncodingCache
from zipfian.engines.opensearch.bulk import Bulk, BulkSettings, Outcome
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.documents import Action, Loss, Writer, document
from zipfian.engines.opensearch.mapping import Layout
from zipfian.engines.opensearch.reader import Reader
from zipfian.errors import DocumentsRejected, InvalidInput, LimitExceeded
from zipfian.fields.base import VectorField
from zipfian.fields.item import Item
from zipfian.index.metadata import ColumnType, check_metadata, merge_column_types

LOOKUP = 512
"""Documents checked, looked up and encoded together."""


class Writing:
    """What a collection knows while it writes. Calls are serialised."""

    def __init__(
        self, client: Client, layout: Layout, columns: Mapping[str, ColumnType], dims: Mapping[str, int],
        bulk: BulkSettings, cache: EncodingCache | None,
    ) -> None:  # fmt: skip
        self.settings: Settings = layout.settings.with_columns(columns)
        self.dims: dict[str, int] = dict(dims)
        self.bulk = bulk
        self.last = Outcome()
        self._client = client
        self._layout = layout
        self._index = client.address.index
        self._writer = Writer(layout.settings.posting_fields, layout.codes)
        self._cache = cache
        self._encoding: Encoding | None = None
        self._making = threading.Lock()
        self._known: set[str] = set()
        self._sequence = 0
        self._lock = threading.RLock()

    @property
    def encoding(self) -> Encoding:
        """The encoders of the fields; those who have them read ahead ask for it on other threads."""
        with self._making:
            if self._encoding is None:
                self._encoding = Encoding(self.settings.fields, self._cache, by_passage=False)
            return self._encoding

    @property
    def losses(self) -> Mapping[str, Loss]:
        """What whole frequencies cost, by field."""
        return self._writer.losses

    def learn(self, layout: Layout, columns: Mapping[str, ColumnType], dims: Mapping[str, int]) -> None:
        """Columns that others have added, and the language that they found."""
        with self._lock:
            self._layout = layout
            merged = dict(self.settings.columns)
            for name, kind in columns.items():
                merged[name] = merge_column_types(name, merged[name], kind) if name in merged else kind
            self.settings = self.settings.with_columns(merged).with_languages(layout.settings.languages)
            self.dims |= dims

    def put(
        self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None, skipped: Skipped | None
    ) -> int:
        """Send documents; those before a bad one are sent, and the error names it."""
        if existing not in ("error", "skip", "replace"):
            raise InvalidInput(f"existing must be 'error', 'skip' or 'replace', not {existing!r}")
        if isinstance(items, Mapping):
            raise InvalidInput("add takes an iterable of documents; put a single document into a list")
        with self._lock:
            bulk = Bulk(self._client, self._index, self.bulk, progress)
            self.last = bulk.outcome
            with bulk:
                chunk: list[Item] = []
                try:
                    for raw in items:
                        try:
                            item, columns = check_item(raw, self.settings, self.settings.columns, self.dims)
                        except (InvalidInput, LimitExceeded) as problem:
                            if skipped is None or (doc_id := given_id(raw)) is None:
                                raise
                            skipped(doc_id, problem)
                            continue
                        self.settings = self.settings.with_columns(columns)
                        self.dims.update((name, len(vector)) for name, vector in item.vectors.items())
                        chunk.append(item)
                        if len(chunk) >= LOOKUP:
                            full, chunk = chunk, []
                            self._send(bulk, full, existing, skipped)
                finally:
                    self._send(bulk, chunk, existing, skipped)
        if progress:
            progress(bulk.outcome.taken)
        return self._report(bulk.outcome, existing)

    def update(self, items: Iterable[Any], reader: Reader, progress: Callable[[int], None] | None) -> int:
        """Change parts of documents: an index does not give back what it has analysed, so each is made anew from its
        text, picture, vectors and metadata. What somebody else writes at the same time may be lost."""
        with self._lock:
            return self.put((self._whole(raw, reader) for raw in changes(items)), "replace", progress, None)

    def _whole(self, raw: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
        """A document as it will be, in the form that `add` takes."""
        doc_id = raw["id"]
        check_item(raw, self.settings, self.settings.columns, self.dims)
        given = raw.get("terms") or {}
        for name, field in self.settings.fields.items():
            if field.takes == "terms" and field.reads is None and name not in given:
                raise InvalidInput(
                    f"document {doc_id!r}: an index does not give back the terms of field {name!r}: give them too, or "
                    "send the whole document with upsert"
                )
        found = self._client.call("POST", f"/{self._index}/_mget", {"ids": [doc_id]})["docs"][0]
        if not found.get("found"):
            raise not_there(doc_id)
        old = document(doc_id, found["_source"], self._index)
        changed = changed_inputs(raw)
        whole: dict[str, Any] = {"text": old.text, **raw}
        whole["metadata"] = new_metadata(old.metadata, raw.get("metadata"), "image" in changed)
        reads = {field.reads for field in self.settings.fields.values()}
        if "image" in reads and "image" not in changed and (picture := self.settings.trust.picture(old.metadata)):
            whole["image"] = picture
        vectors = raw.get("vector")
        named = dict(vectors) if isinstance(vectors, Mapping) else {} if vectors is None else {"default": vectors}
        whole["vector"] = {**self._own_vectors(doc_id, reader), **named} or None
        return whole

    def _own_vectors(self, doc_id: str, reader: Reader) -> dict[str, Any]:
        """The vectors that a document came with; those of fields are made again."""
        fields = self.settings.fields.items()
        made = {f.stored_as(n) for n, f in fields if isinstance(f, VectorField) and f.encoder is not None}
        wanted = [name for name in self.dims if name not in made]
        if not wanted or not reader.present([doc_id])[0]:
            return {}
        number = reader.number(doc_id)
        rows = {name: reader.vectors([number], name)[0] for name in wanted}
        return {name: row for name, row in rows.items() if row is not None and not np.isnan(row).all()}

    def put_stored(self, items: Iterable[Item], existing: Existing, progress: Callable[[int], None] | None) -> int:
        """Send documents that another collection with the same fields has checked and encoded already."""
        with self._lock:
            bulk = Bulk(self._client, self._index, self.bulk, progress)
            self.last = bulk.outcome
            with bulk:
                for chunk in _chunks(map(folded, items)):
                    for item in chunk:
                        _, columns = check_metadata(item.metadata, self.settings.columns)
                        self.settings = self.settings.with_columns(columns)
                    self._tell(chunk)
                    self._put(bulk, self._absent(chunk) if existing == "skip" else chunk, existing)
        return self._report(bulk.outcome, existing)

    def _report(self, outcome: Outcome, existing: Existing) -> int:
        if outcome.rejected:
            raise DocumentsRejected(outcome.rejected, outcome.taken)
        if outcome.present and existing == "error":
            raise InvalidInput(
                f"document {outcome.present[0]!r} is in the collection already ({len(outcome.present)} of these, "
                f"{outcome.taken} others were taken): use upsert, or existing='skip' or 'replace'"
            )
        return outcome.taken

    def _send(self, bulk: Bulk, items: list[Item], existing: Existing, skipped: Skipped | None) -> None:
        if existing == "skip":
            items = self._absent(items)
        self._tell(items)
        problems = self.encoding.fill(items) if self.encoding else {}
        taken = []
        try:
            for i, item in enumerate(items):
                if i not in problems:
                    taken.append(item)
                elif skipped is None:
                    raise InvalidInput(f"document {item.id!r}: {problems[i]}") from problems[i]
                else:
                    skipped(item.id, problems[i])
        finally:
            self._put(bulk, taken, existing)

    def _tell(self, items: list[Item]) -> None:
        """Give texts their language; what the index learns of its own by the first of them, it says about itself."""
        told = self.settings.tell(items)
        if told.languages.own != self.settings.languages.own:
            layout = replace(self._layout, settings=self._layout.settings.with_languages(told.languages))
            self._client.call("PUT", f"/{self._index}/_mapping", {"_meta": {"zipfian": layout.about()}})
            self._layout = layout
        self.settings = told

    def _put(self, bulk: Bulk, items: list[Item], existing: Existing) -> None:
        action: Action = "index" if existing == "replace" else "create"
        for item in items:
            self.dims.update((name, len(vector)) for name, vector in item.vectors.items())
            self._sequence = max(self._sequence + 1, time.time_ns())
            operation, needed = self._writer.operation(item, action, self._sequence)
            self._map(needed)
            bulk.put(operation)

    def _map(self, needed: Mapping[str, Any]) -> None:
        """Extend the mapping before the first document that needs it."""
        new = {name: entry for name, entry in needed.items() if name not in self._known}
        if new:
            self._client.call("PUT", f"/{self._index}/_mapping", {"properties": new})
            self._known.update(new)

    def _absent(self, items: list[Item]) -> list[Item]:
        """Documents not yet there: what is there already need not be encoded again."""
        if not items:
            return items
        body = {"ids": [item.id for item in items]}
        found = self._client.call("POST", f"/{self._index}/_mget", body, {"_source": False})["docs"]
        return [item for item, doc in zip(items, found, strict=True) if not doc.get("found")]


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    chunk: list[Item] = []
    for item in items:
        chunk.append(item)
        if len(chunk) >= LOOKUP:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
