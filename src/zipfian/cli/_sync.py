"""Making a collection follow a source: only what is new, changed or gone is written.

A document is unchanged when its text and metadata equal what the collection holds, so nothing but the documents
themselves has to be kept for the comparison. Each carries the source it came from; only documents of the same source
are ever removed. Commits on the way make a long run resumable: after a kill, the same command goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zipfian.cli._read import Bad, Document
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.collection import Collection

SOURCE_FIELD = "_source"
"""Metadata field with the source of a document that the command line put there."""

ADD_DOCUMENTS = 1_000
ADD_CHARS = 16 * 1024 * 1024
"""Documents are handed over in pieces of at most so many, and about so many characters."""


@dataclass(slots=True)
class Summary:
    """What a run did, by count; `bad` lists what was skipped."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    empty: int = 0
    commits: int = 0
    bad: list[Bad] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{n:,} {name}" for name in ("added", "updated", "removed", "unchanged") if (n := getattr(self, name))]
        if self.empty:
            parts.append(f"{self.empty:,} empty")
        if self.bad:
            parts.append(f"{len(self.bad):,} skipped as unreadable")
        return ", ".join(parts) or "no documents found"


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do where there is a choice."""

    source: str
    prefix: str = ""
    skip_bad: bool = False
    take_over: bool = False
    remove: bool = True
    commit_every: int = 10_000


class Sync:
    """One run over one source."""

    def __init__(self, collection: Collection, policy: Policy) -> None:
        self.collection = collection
        self.policy = policy
        self.summary = Summary()
        self._seen: set[str] = set()
        self._uncommitted = 0

    def run(self, found: Iterable[Document | Bad]) -> Summary:
        """Add and update from `found`, then remove what this source no longer has."""
        for batch in _batches(self._changes(found)):
            self.collection.add(batch, existing="replace")
            self._uncommitted += len(batch)
            if self._uncommitted >= self.policy.commit_every:
                self._commit()
        if self.policy.remove:
            gone = list(self._gone())
            if gone:
                self.collection.delete(gone)
                self._uncommitted += len(gone)
                self.summary.removed = len(gone)
        if self._uncommitted:
            self._commit()
        return self.summary

    def _changes(self, found: Iterable[Document | Bad]) -> Iterator[dict[str, Any]]:
        """The documents that have to be written."""
        for item in found:
            if isinstance(item, Bad):
                self._on_bad(item)
                continue
            document = replace(
                item, id=self.policy.prefix + item.id, metadata={**item.metadata, SOURCE_FIELD: self.policy.source}
            )
            if document.id in self._seen:
                raise InvalidInput(f"{item.where}: the id {document.id!r} appears twice in this source")
            if not document.text.strip():
                self.summary.empty += 1
                continue
            self._seen.add(document.id)
            if self._differs(document):
                yield document.to_dict()

    def _differs(self, new: Document) -> bool:
        old = self.collection.get(new.id)
        if old is None:
            self.summary.added += 1
            return True
        owner = old.metadata.get(SOURCE_FIELD)
        if owner != self.policy.source and not self.policy.take_over:
            whose = f"from {owner}" if owner else "and was not put there by this command"
            raise InvalidInput(
                f"{new.where}: the id {new.id!r} is already in the collection {whose}; "
                "give this source ids of its own with --prefix, or replace such documents with --take-over"
            )
        if old.text == new.text and dict(old.metadata) == new.metadata:
            self.summary.unchanged += 1
            return False
        self.summary.updated += 1
        return True

    def _gone(self) -> Iterator[str]:
        """Ids of this source that it no longer has; what could not be read is not gone."""
        for doc_id in self.collection.ids():
            if doc_id in self._seen:
                continue
            document = self.collection.get(doc_id)
            if document is not None and document.metadata.get(SOURCE_FIELD) == self.policy.source:
                yield doc_id

    def _on_bad(self, bad: Bad) -> None:
        if not self.policy.skip_bad:
            raise InvalidInput(f"{bad.where}: {bad.problem}; leave such documents out with --on-bad skip")
        self.summary.bad.append(bad)
        if bad.id is not None:
            self._seen.add(self.policy.prefix + bad.id)

    def _commit(self) -> None:
        self.collection.commit()
        self.summary.commits += 1
        self._uncommitted = 0


def _batches(documents: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    chars = 0
    for document in documents:
        batch.append(document)
        chars += len(document["text"])
        if len(batch) >= ADD_DOCUMENTS or chars >= ADD_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch
