"""The writer: collects changes and makes them one commit, all or nothing.

A commit is durable when `commit` returns, and invisible until its last rename:

1. segment files are written under new names and synced (by `SectionWriter.close`, before this module sees them);
2. the folder is synced, so that their names survive;
3. the manifest is written under a temporary name and synced;
4. it is renamed to `manifest-<generation>.json`, and the folder is synced;
5. files that neither the last two commits nor an open snapshot of this process need are deleted.

A failure leaves the previous commit as the newest, and the changes in the writer, to try again; only a failed sync of
the folder closes the writer (`_publish.py` says why).
"""

from __future__ import annotations

import contextlib
import copy
import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zipfian._version import __version__
from zipfian.errors import FormatTooNew, FormatTooOld, IndexCorrupt, IndexExists, IndexLocked, InvalidInput
from zipfian.index._collect import Collector
from zipfian.index._publish import publish
from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import (
    Manifest,
    check_segments,
    generations_in,
    is_ours,
    newest_named,
    not_a_collection,
    pack_note,
    read_manifest,
    read_note,
)
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import LOCK_NAME, Directory


class Writer:
    """The one writer of a directory, from construction (which takes the lock) to `close`.

    Changes collect in `entries`, `settings` and `counters` until `commit` or `rollback`. Methods may be called from
    several threads, as a background merge does; each is atomic.
    """

    def __init__(self, directory: Directory, create: bool = False, settings: Mapping[str, Any] | None = None) -> None:
        self.directory = directory
        self._mutex = threading.RLock()
        self._pid = os.getpid()
        self._closed: str | None = None
        self._collector = Collector(directory)
        self._entries: tuple[SegmentEntry, ...] = ()
        self._previous: Manifest | None = None
        self._next = 1
        self.counters: dict[str, int] = {}
        if create:
            directory.prepare()
        _require(directory, empty=create)  # before the lock file is made, in a folder that may not be ours
        self._lock = directory.lock()
        try:
            _require(directory, empty=create)
            if create:
                self._start(settings or {})
            else:
                self._resume()
                if settings is not None:
                    self.settings = _copy(settings)
        except BaseException:
            self._stop("it could not be opened")
            raise

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        """The last commit."""
        return self._committed

    @property
    def generation(self) -> int:
        """Number of the last commit."""
        return self._committed.generation

    @property
    def entries(self) -> tuple[SegmentEntry, ...]:
        """The segments the next commit will name, in document order."""
        return self._entries

    @property
    def changed(self) -> bool:
        """Whether a commit now would differ from the last one."""
        last = self._committed
        used = {**self.counters, "segments": last.counters.get("segments", 0)}  # an id taken is not yet a change
        now = (self._entries, self.settings, self.user, used)
        return now != (last.segments, last.settings, last.user, last.counters)

    @property
    def closed(self) -> bool:
        """Whether the lock was given back."""
        return self._closed is not None

    # -- changes -------------------------------------------------------------------------------------------------

    def new_segment_id(self) -> str:
        """An id no file of this collection has used, also not one left by a crashed writer (hence the random part)."""
        with self._open():
            self.counters["segments"] = self.counters.get("segments", 0) + 1
            return f"s{self.counters['segments']:08d}-{secrets.token_hex(4)}"

    def add_segment(self, entry: SegmentEntry) -> None:
        """Append a segment: its documents come after all others."""
        with self._open():
            self._set((*self._entries, entry))

    def replace(self, old: Sequence[SegmentEntry], new: SegmentEntry | None) -> None:
        """Put `new`, the merge of the neighbours `old`, in their place (nothing, if no document was left).

        `InvalidInput` if one of them changed since the merge began, for instance by a delete: merge again.
        """
        with self._open():
            if not old:
                raise InvalidInput("there is nothing to replace")
            ids = [entry.id for entry in self._entries]
            start = ids.index(old[0].id) if old[0].id in ids else len(ids)
            stop = start + len(old)
            if self._entries[start:stop] != tuple(old):
                raise InvalidInput("the segments to replace are not neighbours as they were, or have changed since")
            self._set((*self._entries[:start], *([new] if new is not None else []), *self._entries[stop:]))

    def update(self, entry: SegmentEntry) -> None:
        """Replace the entry with the same id: the segment got a new file (a field, deletes)."""
        with self._open():
            if entry.id not in {known.id for known in self._entries}:
                raise InvalidInput(f"there is no segment {entry.id!r}")
            self._set(tuple(entry if known.id == entry.id else known for known in self._entries))

    def discard(self, entry: SegmentEntry) -> None:
        """Delete the files of a segment that was written but will not be added, such as a merge that came too late."""
        with self._open():
            self._collector.drop(_files((entry,)))
            self._collect()

    # -- ends ----------------------------------------------------------------------------------------------------

    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        """Make all changes durable and visible; returns the generation. Without changes it does nothing.

        `user` is stored with the commit; None keeps what the last one had. On an error the previous commit is what
        everybody sees, and the changes are still here unless the writer says it is closed.
        """
        with self._open():
            if user is not None:
                self.user = _copy(user)
            if not self.changed:
                return self.generation
            self._publish()
            return self.generation

    def rollback(self) -> None:
        """Forget the changes since the last commit, and delete their files."""
        with self._open():
            self._set(self._committed.segments)
            self._adopt(self._committed)
            self._collect()

    def close(self) -> None:
        """Give the lock back; uncommitted changes are forgotten. Harmless when repeated."""
        with self._mutex:
            if self._closed is None and self._pid == os.getpid():
                self._set(self._committed.segments)
                self._collect()
                self._stop("it was closed")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _open(self) -> Iterator[None]:
        """One method at a time, on a writer that may still write."""
        with self._mutex:
            if self._closed is not None:
                raise InvalidInput(f"this writer cannot be used: {self._closed}; open a new one")
            if self._pid != os.getpid():
                raise InvalidInput("this writer belongs to the process that opened it, not to its forked child")
            yield

    def _stop(self, why: str) -> None:
        self._closed = why
        self._lock.release()

    def _set(self, entries: tuple[SegmentEntry, ...]) -> None:
        check_segments(entries)
        self._collector.drop(_files(self._entries) - _files(entries))
        self._entries = entries

    def _adopt(self, manifest: Manifest) -> None:
        """Continue from a commit. Ids are never used again, not even after a rollback."""
        taken = self.counters.get("segments", 0)
        self._committed = manifest
        self._entries = manifest.segments
        self.settings = _copy(manifest.settings)
        self.user = _copy(manifest.user)
        self.counters = {**manifest.counters, "segments": max(taken, manifest.counters.get("segments", 0))}

    def _start(self, settings: Mapping[str, Any]) -> None:
        """The first commit: no documents, but the settings, so that the collection exists from here on."""
        self._adopt(Manifest(0, settings=settings))
        self._collector.sweep()
        self._collect()
        self._publish()

    def _resume(self) -> None:
        """Continue from the newest commit, which must be sound, and collect what a crashed writer left."""
        with Snapshot.open(self.directory) as newest:
            self._adopt(newest.manifest)
        self.directory.sync()  # what we saw may be younger than its folder's last sync: build on nothing unsynced
        names = self.directory.list()
        older = [generation for generation in generations_in(names) if generation < self.generation]
        self._next = newest_named(names) + 1
        try:
            if older:
                self._previous = read_manifest(self.directory, older[-1])
        except (IndexCorrupt, FormatTooNew, FormatTooOld):
            return  # what it named is not known, so nothing is swept while it is one of the two commits kept
        self._collector.sweep()
        self._collect()

    def _publish(self) -> None:
        """Steps 2 to 5 of the protocol."""
        try:
            self._lock.check()
        except IndexLocked:
            self._stop("its lock was taken away, and another writer may have removed its files")
            raise
        draft = Manifest(self._next, self._entries, self.settings, self.counters, self.user, __version__)
        data = draft.encode()
        manifest = Manifest.decode(draft.name, data)  # exactly what readers will see, or an error before any write
        self._next += 1  # a number is used once, even if its manifest is withdrawn again
        publish(self.directory, manifest, data, self._stop)
        if self._previous is not None:
            self._collector.drop({self._previous.name} | self._previous.files())
        self._previous = self._committed if self.generation else None
        self._adopt(manifest)
        with contextlib.suppress(OSError):  # a note that lags is allowed for
            self._lock.note(pack_note(self.generation))
        self._collect()

    def _collect(self) -> None:
        needed = _files(self._entries)
        for manifest in (self._committed, self._previous):
            if manifest is not None and manifest.generation:
                needed |= {manifest.name} | manifest.files()
        self._collector.collect(needed)


def _files(entries: tuple[SegmentEntry, ...]) -> set[str]:
    return {ref.name for entry in entries for ref in entry.files.values()}


def _copy(settings: Mapping[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(dict(settings))


def _require(directory: Directory, *, empty: bool) -> None:
    """Refuse to create over something, and to open nothing."""
    names = [name for name in directory.list() if name != LOCK_NAME]
    there = bool(generations_in(names)) or read_note(directory) > 0
    if not empty and not there:
        raise not_a_collection(directory, names)
    if empty and there:
        raise IndexExists(f"{directory} holds a collection already: open it, or choose another path")
    if empty and not all(is_ours(name) for name in names):
        raise IndexExists(f"{directory} is not empty, and what is in it is no collection: choose another path")
