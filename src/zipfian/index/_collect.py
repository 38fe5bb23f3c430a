"""Deleting files that no commit needs any more. Only a writer that holds the lock does this, never a reader."""

from __future__ import annotations

from collections.abc import Iterable

from zipfian.index import _held
from zipfian.index.manifest import is_ours
from zipfian.storage.directory import Directory


class Collector:
    """A list of files to delete, which goes down when it can: a file that cannot go now is only space.

    Nothing is deleted because it looks unused while a writer is at work (a merge may be writing it in another thread);
    files come on the list by name, when a commit drops them, or all at once when a writer opens.
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._unneeded: set[str] = set()

    def drop(self, names: Iterable[str]) -> None:
        """Put files on the list."""
        self._unneeded.update(names)

    def sweep(self) -> None:
        """Put every file on the list that a writer, perhaps a crashed one, may have made."""
        self._unneeded.update(name for name in self._directory.list() if is_ours(name))

    def collect(self, needed: set[str]) -> None:
        """Delete what is on the list, except files that are needed or that a snapshot of this process has open."""
        self._unneeded -= needed
        # Manifests sort, and so go, before the data files they name.
        for name in sorted(self._unneeded - _held.held(self._directory.key)):
            try:
                self._directory.delete(name)
            except FileNotFoundError:
                pass
            except OSError:
                return  # a disk that refuses one deletion will refuse others: all of it can wait
            self._unneeded.discard(name)
