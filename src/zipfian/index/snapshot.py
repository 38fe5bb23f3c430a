"""Opening a commit for reading: an immutable view that later commits, merges and clean-ups do not touch."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from zipfian.errors import FormatTooNew, FormatTooOld, IndexCorrupt, IndexNotFound
from zipfian.index import _held
from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import (
    Manifest,
    generations_in,
    list_generations,
    manifest_name,
    not_a_collection,
    read_manifest,
    read_note,
)
from zipfian.index.segment import SegmentReader
from zipfian.storage.directory import Directory

_ATTEMPTS = 50
"""Times a reader starts again because commits keep removing the files it was about to open."""


class Snapshot:
    """One commit, open for reading, safe to share between threads.

    All its files are mapped when it opens, so it keeps working when a later commit deletes them. Files that the writer
    of this same process no longer needs stay on disk until the snapshot is closed or forgotten.
    """

    def __init__(
        self, directory: Directory, manifest: Manifest, known: Mapping[str, SegmentReader] | None = None
    ) -> None:
        """`known`: segments of another commit that are open, by id; files that both have are read through them."""
        self.directory = directory
        self.manifest = manifest
        release = _held.hold(directory.key, {manifest.name} | manifest.files())
        self._release = weakref.finalize(self, release)
        self._release.atexit = False
        opened: list[SegmentReader] = []
        try:
            for entry in manifest.segments:
                opened.append(SegmentReader(directory, entry, (known or {}).get(entry.id)))
        except BaseException:
            for reader in opened:
                reader.close()
            self._release()
            raise
        self.segments: tuple[SegmentReader, ...] = tuple(opened)

    @classmethod
    def open(
        cls, directory: Directory, generation: int | None = None, known: Mapping[str, SegmentReader] | None = None
    ) -> Snapshot:
        """The newest commit, or the given one of those still kept; what `known` has open is not opened again.

        A file may go while we open because a newer commit superseded ours: then there is a newer manifest, and we start
        again with it. If nothing newer is there, the file is lost. A damaged newest commit is an error even when an
        older one is sound: going back in time is the user's decision, and the message says how to take it.
        """
        seen: object = None
        for _ in range(_ATTEMPTS):
            note = read_note(directory)  # before the listing, so that it cannot be ahead of it by a race
            names = directory.list()
            generations = generations_in(names)
            if not generations and not note:
                raise not_a_collection(directory, names)
            try:
                return cls(directory, read_manifest(directory, _choose(generations, note, generation)), known)
            except IndexCorrupt as e:
                failure = e
            if seen == (note, generations):
                break
            seen = (note, generations)
        if generation is not None:
            raise failure
        raise _with_way_out(directory, generations, failure) from failure

    @property
    def generation(self) -> int:
        """The commit's number; a later commit has a larger one."""
        return self.manifest.generation

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the collection stored about itself."""
        return self.manifest.settings

    @property
    def entries(self) -> tuple[SegmentEntry, ...]:
        """The segments as the manifest names them, oldest documents first."""
        return self.manifest.segments

    @property
    def user(self) -> Mapping[str, Any]:
        """What the caller of `commit` attached to it."""
        return self.manifest.user

    def close(self) -> None:
        """Refuse further use and let the writer delete what nobody else needs. Harmless when repeated."""
        for reader in self.segments:
            reader.close()
        self._release()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_newest(directory: Directory, generation: int) -> bool:
    """Whether no commit is newer than `generation`, told by names alone: nothing is opened."""
    return read_note(directory) <= generation and list_generations(directory)[-1:] == [generation]


def _choose(generations: list[int], note: int, wanted: int | None) -> int:
    newest = generations[-1] if generations else 0
    if wanted is None and note > newest:
        raise IndexCorrupt(manifest_name(note), "is missing, though that commit was completed")
    if wanted is None:
        return newest
    manifest_name(wanted)  # an error for what is no number of a commit
    if wanted not in generations:
        raise IndexNotFound(f"there is no generation {wanted}; those kept are {generations}")
    return wanted


def _with_way_out(directory: Directory, generations: list[int], failure: IndexCorrupt) -> IndexCorrupt:
    """The same error, naming the newest generation that can still be opened, if any."""
    for older in reversed(generations):
        try:
            Snapshot(directory, read_manifest(directory, older)).close()
        except (IndexCorrupt, FormatTooNew, FormatTooOld):
            continue
        return IndexCorrupt(
            failure.file,
            f"{failure.problem}. Generation {older} is older and can be read: open it with generation={older}, "
            f"or make it the newest with restore(generation={older})",
        )
    return failure
