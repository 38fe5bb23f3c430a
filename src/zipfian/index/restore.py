"""Going back to an older commit, on request only."""

from __future__ import annotations

from zipfian.index.manifest import list_generations, manifest_name, pack_note
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import Directory


def restore(directory: Directory, generation: int) -> list[str]:
    """Make an older commit the newest again, for a collection whose newest one is damaged.

    Newer manifests are renamed to `<name>.aside`, not deleted; returns those names. Data files that only they name are
    collected by the next writer that opens the collection, so copy the folder first if they may still be of use.
    """
    lock = directory.lock()
    try:
        Snapshot.open(directory, generation).close()  # it must be sound itself
        newer = [manifest_name(found) for found in list_generations(directory) if found > generation]
        for name in reversed(newer):  # newest first: wherever this stops, what is left is in order
            directory.rename(name, f"{name}.aside")
        directory.sync()
        lock.note(pack_note(generation))
        return [f"{name}.aside" for name in newer]
    finally:
        lock.release()
