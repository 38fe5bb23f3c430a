"""Where downloaded weights and cached encodings are kept, and how a file gets there whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from zipfian.compiled.folder import OVERRIDE, root
from zipfian.errors import room_for

_BLOCK = 1 << 20


def sha256(path: Path) -> str:
    """Hash of a file's bytes, in hexadecimal."""
    known = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            known.update(block)
    return known.hexdigest()


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """A new file that takes the name `path` when the block ends well, and vanishes when it does not.

    Without `sync` a power cut may leave a file that is not whole: only for files that carry a checksum.
    Two processes may do this at once: each writes its own temporary file, and the last rename wins.
    """
    with room_for(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    os.close(handle)
    try:
        with room_for(path):
            with open(temporary, "wb") as file:
                yield file
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


__all__ = ["OVERRIDE", "replacing", "root", "sha256"]
