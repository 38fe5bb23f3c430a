"""The commit protocol itself: how a manifest becomes visible and durable, and how a failed attempt is undone."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable

from zipfian.index.manifest import Manifest
from zipfian.storage.directory import Directory, write_file


def publish(directory: Directory, manifest: Manifest, data: bytes, stop: Callable[[str], None]) -> None:
    """Make `data` the manifest of a new commit, all or nothing.

    On failure the new manifest is gone again and the error carries a note that says so. `stop` is called, last, when
    the writer may not go on: after a failed sync of the folder the system does not say which names it lost (and may
    report success the next time), so nothing written before it may be built upon.
    """
    temporary = f"manifest-{manifest.generation:012d}-{secrets.token_hex(4)}.tmp"
    step = "sync"
    try:
        directory.sync()  # the names of the data files, which are synced themselves
        step = "write"
        write_file(directory, temporary, data)
        step = "rename"
        directory.rename(temporary, manifest.name)
        step = "publish"
        directory.sync()
    except BaseException as e:
        _withdraw(directory, temporary, manifest.name, step, e, stop)
        raise


def _withdraw(
    directory: Directory, temporary: str, name: str, step: str, error: BaseException, stop: Callable[[str], None]
) -> None:
    """Undo. Deleting can fail too; then the truth is told: the new commit may be seen."""
    if step in ("write", "rename"):
        with contextlib.suppress(OSError):  # the next writer collects it
            directory.delete(temporary)
    if step == "rename" and isinstance(error, FileExistsError):
        stop("another program writes to the collection without taking the lock")
        return  # that manifest is not ours to delete
    if step in ("rename", "publish") and directory.exists(name):
        try:
            directory.delete(name)
            directory.sync()
        except OSError as e:
            error.add_note(f"{name} could not be withdrawn for certain ({e}): the commit may or may not be found.")
            stop("a failed commit could not be withdrawn for certain")
            return
    error.add_note("The commit did not happen; the previous one is still the newest.")
    if step in ("sync", "publish"):
        stop("syncing its folder failed, and the system does not say what was lost")
