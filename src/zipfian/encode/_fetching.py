"""What every source of weights has in common: how bytes are copied, and how it says that it has none to give."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from zipfian.encode.models import WeightFile

BLOCK = 1 << 20

Report = Callable[[int], None]
"""Called with the number of bytes copied so far."""


class Readable(Protocol):
    """Where bytes come from."""

    def read(self, size: int, /) -> bytes: ...


class Fetch(Protocol):
    """Copies one file of a model from an open source."""

    def __call__(self, file: WeightFile, target: BinaryIO, report: Report) -> None: ...


class Unavailable(Exception):
    """This source does not have the file; the message says why in a few words."""


class Unreachable(Unavailable):
    """This source has nothing to give at all now; asking it for another file is of no use."""


class StorageFailed(Exception):
    """The cache could not be written: not the source's fault, so no other source is tried."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def copy(source: Readable, target: BinaryIO, size: int, report: Report) -> str:
    """Copy at most `size` bytes and give their sha256; one byte more than that makes it the wrong file."""
    done, known = 0, hashlib.sha256()
    while block := source.read(BLOCK):
        done += len(block)
        if done > size:
            raise Unavailable(f"larger than the {size:,} bytes it should have")
        known.update(block)
        try:
            target.write(block)
        except OSError as error:
            raise StorageFailed(error) from error
        report(done)
    return known.hexdigest()
