"""Picture files that a collection names: opened only if they are plain files, and known again by size and sha256.

What a collection remembers of a picture is its path and these two. Whoever made the collection wrote them, so a file is
read only up to the size that was promised, and nothing of it is used unless its hash is the promised one.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.errors import (
    ImageUnreadable,
    LimitExceeded,
    MissingExtra,
    NotAFile,
    NotTrusted,
    PictureGone,
    ZipfianError,
)
from zipfian.limits import MAX_IMAGE_BYTES
from zipfian.storage.regular import look, read_regular, sha256_of

SIZE_COLUMN = "_image_bytes"
HASH_COLUMN = "_image_sha256"
"""Metadata columns that keep what a picture file held when it was indexed."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a picture file held."""

    size: int
    sha256: str

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Stamp | None:
        """As the metadata of a document say; None where they do not."""
        size, sha256 = metadata.get(SIZE_COLUMN), metadata.get(HASH_COLUMN)
        if type(size) is not int or not 1 <= size <= MAX_IMAGE_BYTES:
            return None
        return cls(size, sha256) if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else None

    @classmethod
    def take(cls, path: str | os.PathLike[str]) -> Stamp | None:
        """Of a file as it is now; None where it cannot be read, which whoever encodes it will say."""
        try:
            return cls(look(path, MAX_IMAGE_BYTES).st_size, sha256_of(path, MAX_IMAGE_BYTES))
        except (OSError, LimitExceeded):
            return None

    def metadata(self) -> dict[str, Any]:
        """The form that `of` reads."""
        return {SIZE_COLUMN: self.size, HASH_COLUMN: self.sha256}

    def read(self, path: str) -> bytes:
        """The bytes of a file, once they have proved to be these; one of another size is not even opened."""
        data = read(path, self.size)
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ImageUnreadable(path, "the picture is no longer what was indexed")
        return data


def read(path: str, size: int | None = None) -> bytes:
    """The bytes of a regular file within the limit, of a given size where one is given."""
    if size is not None and look(path).st_size != size:
        raise ImageUnreadable(path, "the picture is no longer what was indexed: it has another size")
    return read_regular(path, MAX_IMAGE_BYTES)


def told(error: ZipfianError | OSError) -> str:
    """Why something of a document could not be read, without saying where it is: results travel further than paths."""
    if isinstance(error, ImageUnreadable | NotAFile | PictureGone):
        return error.problem
    if isinstance(error, NotTrusted):
        return "the picture may not be opened; name the folder it is in with pictures=[FOLDER], or --pictures FOLDER"
    if isinstance(error, LimitExceeded):
        return f"the file has more than {MAX_IMAGE_BYTES:,} bytes"
    if isinstance(error, MissingExtra):
        return str(error)
    said = error.strerror if isinstance(error, OSError) else None
    return f"the file cannot be read ({said or type(error).__name__})"
