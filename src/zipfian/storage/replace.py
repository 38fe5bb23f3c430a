"""A file that takes a name in one step: whoever looks finds the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from zipfian.errors import room_for
from zipfian.storage.container import SectionWriter
from zipfian.storage.directory import Bytes, FileWriter, fsync, sync_folder

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


@contextlib.contextmanager
def replacing_sections(path: Path, kind: str, meta: Mapping[str, Any]) -> Iterator[SectionWriter]:
    """A container that takes the name `path` when the block ends well, as `replacing` does; the block adds sections."""
    with replacing(path) as file, SectionWriter(_Lent(file), path.name, kind, meta) as writer:
        yield writer
        writer.close()


class _Lent:
    """The one file that `replacing` gives, for a `SectionWriter`; making it durable or away is not the writer's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def create(self, name: str) -> FileWriter:
        return self

    def delete(self, name: str) -> None:
        pass

    def write(self, data: Bytes) -> None:
        self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass
