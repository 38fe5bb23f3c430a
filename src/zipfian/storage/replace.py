"""A file that takes a name in one step: whoever looks finds the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from zipfian.errors import room_for
from zipfian.storage.directory import fsync, sync_folder

_PREFIX = ".new-"


def is_unfinished(path: Path) -> bool:
    """Whether this is what a killed `replacing` left behind: of no use to anybody."""
    return path.name.startswith(_PREFIX)


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """A new file that takes the name `path` when the block ends well, and vanishes when it does not.

    After it returns, content and name survive a power cut. Without `sync` one may leave the old file, or one that is
    not whole: only for files that carry a checksum and can be made again.
    Two processes may do this at once: each writes its own temporary file, and the last rename wins.
    """
    with room_for(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
    os.close(handle)
    try:
        with room_for(path):
            with open(temporary, "wb") as file:
                yield file
                if sync:
                    file.flush()
                    fsync(file.fileno())
            os.replace(temporary, path)
            if sync:
                sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
