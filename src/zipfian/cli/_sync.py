"""Making a collection follow a source: only what is new, changed or gone is written.

A text is unchanged when it and its metadata equal what the collection holds. A picture is unchanged when its file has
the size and time it had, or else the same sha256; these three are kept in the metadata. Each document carries the
source it came from; only documents of the same source are ever removed. Commits on the way make a long run resumable:
after a kill, the same command goes on where it was, and what was encoded since is still in the encode cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zipfian.cli._read_types import Bad, Document
from zipfian.encode.picture_files import HASH_FIELD, SIZE_FIELD, Stamp
from zipfian.encode.regular import look
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_IMAGE_BYTES

if TYPE_CHECKING:
    from zipfian.collection import Collection
    from zipfian.collection.results import Document as Stored

SOURCE_FIELD = "_source"
"""Metadata field with the source of a document that the command line put there."""

TIME_FIELD = "_image_mtime_ns"
STAMP_FIELDS = (SIZE_FIELD, TIME_FIELD, HASH_FIELD)
"""Metadata fields by which a changed picture is noticed."""

ADD_DOCUMENTS = 1_000
ADD_ENCODED = 256
ADD_PICTURES = 32
ADD_CHARS = 16 * 1024 * 1024
ADD_ENCODED_CHARS = 60_000
"""Documents are handed over in pieces of at most so many, and about so many characters; smaller ones where each costs
an encoder's time, so that progress is seen."""

COMMIT_SECONDS = 60.0
"""A run that encodes commits at least this often."""


@dataclass(slots=True)
class Summary:
    """What a run did, by count; `bad` lists what was skipped."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    empty: int = 0
    uncaptioned: int = 0
    """Pictures without a caption where no leg looks at pictures."""
    commits: int = 0
    bad: list[Bad] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{n:,} {name}" for name in ("added", "updated", "removed", "unchanged") if (n := getattr(self, name))]
        if self.empty:
            parts.append(f"{self.empty:,} empty")
        if self.uncaptioned:
            parts.append(f"{self.uncaptioned:,} pictures without captions left out")
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
    encodes_text: bool = False
    """Some leg puts texts through an encoder."""
    pictures: bool = False
    """Some leg looks at pictures."""


class Sync:
    """One run over one source."""

    def __init__(
        self, collection: Collection, policy: Policy, *, on_bad: Callable[[Bad], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.collection = collection
        self.policy = policy
        self.summary = Summary()
        self.committed = 0
        """Documents added or updated that a commit holds."""
        self._on_bad_found = on_bad
        self._clock = clock
        self._last_commit = clock()
        self._seen: set[str] = set()
        self._uncommitted = 0

    def run(self, found: Iterable[Document | Bad], progress: Callable[[int], None] | None = None) -> Summary:
        """Add and update from `found`, then remove what this source no longer has.

        `progress` is called with the number of items of the source that are dealt with since the call before.
        """
        waiting = _Batch(self.policy)
        passed = 0
        for item in found:
            passed += 1
            change = self._change(item)
            if change is not None:
                waiting.add(*change)
            if waiting.full:
                self._write(waiting)
                waiting = _Batch(self.policy)
            if progress is not None and not waiting.changes:
                progress(passed)
                passed = 0
        self._write(waiting)
        if progress is not None:
            progress(passed)
        self._remove()
        if self._uncommitted:
            self._commit()
        return self.summary

    def _write(self, batch: _Batch) -> None:
        """Hand documents over; what turns out to be unreadable is skipped or fatal, as the policy says."""
        if not batch.changes:
            return
        refused: dict[str, str] = {}
        documents = [
            document.to_dict(self.policy.pictures) | {"metadata": {**document.metadata, **_stamp(document)}}
            for document, _ in batch.changes
        ]
        self.collection.add(
            documents, existing="replace", skipped=lambda doc_id, error: refused.update({doc_id: str(error)})
        )
        for document, is_new in batch.changes:
            if document.id in refused:
                self._on_bad(Bad(document.where, _without(refused[document.id], document), None))
            elif is_new:
                self.summary.added += 1
            else:
                self.summary.updated += 1
        self._uncommitted += len(batch.changes) - len(refused)
        late = batch.encodes and self._clock() - self._last_commit >= COMMIT_SECONDS
        if self._uncommitted >= self.policy.commit_every or (late and self._uncommitted):
            self._commit()

    def _change(self, item: Document | Bad) -> tuple[Document, bool] | None:
        """The document if it has to be written, and whether it is new."""
        if isinstance(item, Bad):
            self._on_bad(item)
            return None
        document = replace(
            item, id=self.policy.prefix + item.id, metadata={**item.metadata, SOURCE_FIELD: self.policy.source}
        )
        if document.id in self._seen:
            problem = f"the id {document.id!r} appears twice in this source; name another field with --id-field"
            self._on_bad(Bad(item.where, problem))
            return None
        if not (document.text or "").strip():
            if document.image is None:
                self.summary.empty += 1
                return None
            if not self.policy.pictures:
                self.summary.uncaptioned += 1
                return None
        try:
            old = self.collection.get(document.id)
        except (InvalidInput, LimitExceeded) as problem:  # an id that no document can have
            self._on_bad(Bad(item.where, str(problem)))
            return None
        self._seen.add(document.id)
        if old is None:
            return document, True
        if against := self._owned(document, old):
            self._on_bad(Bad(item.where, against))
            return None
        if self._same(document, old):
            self.summary.unchanged += 1
            return None
        return document, False

    def _owned(self, new: Document, old: Stored) -> str:
        """What speaks against replacing a document: it is somebody else's; nothing: ''."""
        owner = old.metadata.get(SOURCE_FIELD)
        if owner == self.policy.source or self.policy.take_over:
            return ""
        whose = f"from {owner}" if owner else "and was not put there by this command"
        return (
            f"the id {new.id!r} is already in the collection {whose}; "
            "give this source ids of its own with --prefix, or replace such documents with --take-over"
        )

    def _same(self, new: Document, old: Stored) -> bool:
        kept = {key: value for key, value in old.metadata.items() if key not in STAMP_FIELDS}
        if old.text != new.text or kept != new.metadata:
            return False
        return new.image is None or _same_picture(new.image, dict(old.metadata))

    def _remove(self) -> None:
        if not self.policy.remove:
            return
        gone = list(self._gone())
        if gone:
            self.collection.delete(gone)
            self._uncommitted += len(gone)
            self.summary.removed = len(gone)

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
        if self._on_bad_found is not None:
            self._on_bad_found(bad)
        self.summary.bad.append(bad)
        if bad.id is not None:
            self._seen.add(self.policy.prefix + bad.id)

    def _commit(self) -> None:
        self.collection.commit()
        self.summary.commits += 1
        self._uncommitted = 0
        self.committed = self.summary.added + self.summary.updated
        self._last_commit = self._clock()


class _Batch:
    """Documents on their way into the collection."""

    def __init__(self, policy: Policy) -> None:
        self.changes: list[tuple[Document, bool]] = []
        self._policy = policy
        self._chars = 0
        self._pictures = 0

    def add(self, document: Document, is_new: bool) -> None:
        self.changes.append((document, is_new))
        self._chars += len(document.text or "")
        self._pictures += document.image is not None and self._policy.pictures

    @property
    def encodes(self) -> bool:
        """Whether an encoder has work with it."""
        return self._pictures > 0 or self._policy.encodes_text

    @property
    def full(self) -> bool:
        documents, chars = ADD_DOCUMENTS, ADD_CHARS
        if self._policy.encodes_text:
            documents, chars = ADD_ENCODED, ADD_ENCODED_CHARS
        return len(self.changes) >= documents or self._chars >= chars or self._pictures >= ADD_PICTURES


def _stamp(document: Document) -> dict[str, Any]:
    """Size, time and hash of the picture as it is now; nothing where it cannot be read, which is reported later."""
    if document.image is None:
        return {}
    stamp = Stamp.take(document.image)
    if stamp is None:
        return {}
    try:
        return {**stamp.metadata(), TIME_FIELD: look(document.image, MAX_IMAGE_BYTES).st_mtime_ns}
    except (OSError, LimitExceeded):
        return {}


def _same_picture(path: str, known: dict[str, Any]) -> bool:
    """By size and time; a file that was only copied or touched is recognised by its content."""
    try:
        found = look(path, MAX_IMAGE_BYTES)
        if found.st_size != known.get(SIZE_FIELD):
            return False
        return found.st_mtime_ns == known.get(TIME_FIELD) or Stamp.take(path) == Stamp.of(known)
    except (OSError, LimitExceeded):
        return False


def _without(problem: str, document: Document) -> str:
    """The problem without the names that the message begins with anyway."""
    for start in (f"document {document.id!r}: ", f"{document.image}: ", f"{document.where}: "):
        problem = problem.removeprefix(start)
    return problem
