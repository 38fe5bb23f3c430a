"""Results of encoding, kept on disk so that the same item is never encoded twice with the same encoder.

An entry is found by the hash of the item's content and the fingerprint of what made it. It holds the pooled vector and
whatever compact form of the token vectors the caller wants; full token vectors (0.4 MB for a text of 270 tokens) only
if asked for. The folder has a byte limit: what was not used for longest goes first. A damaged entry is a miss. When
the disk is full nothing more is stored, a warning says so once, and encoding goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from zipfian.compiled.folder import root
from zipfian.encode.base import at_once
from zipfian.encode.images import ImageSource
from zipfian.errors import DiskFull, InvalidInput, LimitExceeded, NotAFile, shown
from zipfian.limits import MAX_IMAGE_BYTES
from zipfian.storage.packed import Array, Damaged, pack, seal, unpack_sealed
from zipfian.storage.regular import blocks, read_regular
from zipfian.storage.replace import replacing

DEFAULT_MAX_BYTES = 1024**3
"""What 25 million characters of text take, or 30,000 pictures; `zipfian cache --limit` changes it for a folder."""
LIMIT_FILE = "limit"
"""Holds that other limit, in bytes."""
KEPT_AFTER_EVICTION = 0.9
"""Share of the limit that is left after making room, so that not every new entry has to."""

ENTRY_BYTES = 160
"""About what names and checksum take in each entry; for estimates."""

_SUFFIX = ".enc"
_LIMIT_DIGITS = 18


def content_hash(item: str | ImageSource, kind: str) -> str:
    """sha256 of what an item holds; for a picture file of its bytes, so a renamed copy is the same item."""
    known = hashlib.sha256(kind.encode() + b"\0")
    if kind == "text":
        if not isinstance(item, str):
            raise InvalidInput(f"a text was expected, not {type(item).__name__}")
        known.update(item.encode("utf-8", "surrogatepass"))
    elif isinstance(item, bytes):
        known.update(item)
    elif isinstance(item, np.ndarray):
        known.update(f"{item.shape}{item.dtype.str}".encode())
        known.update(np.ascontiguousarray(item).data)
    else:
        for block in blocks(item, MAX_IMAGE_BYTES):
            known.update(block)
    return known.hexdigest()


class EncodingCache:
    """A folder of encoded items; safe to use from several threads and processes at once."""

    def __init__(self, path: Path | None = None, *, max_bytes: int | None = None) -> None:
        """`max_bytes` is the limit for this object; by default the folder's own, or `DEFAULT_MAX_BYTES`."""
        self.path = root() / "encodings" if path is None else path
        self._folder = os.fspath(self.path)
        self.max_bytes = self._kept_limit() if max_bytes is None else _checked(max_bytes)
        self.problem: str | None = None
        """Why nothing more is stored, once the disk refused."""
        self._lock = threading.Lock()
        self._total: int | None = None

    def get(self, fingerprint: str, content: str) -> dict[str, Array] | None:
        """The arrays of an entry, or None."""
        path = self._place(fingerprint, content)
        try:
            arrays = unpack_sealed(read_regular(path, self.max_bytes))
        except FileNotFoundError:
            return None
        except (Damaged, LimitExceeded, NotAFile):
            self._remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now: last to be evicted
        return arrays

    def put(self, fingerprint: str, content: str, arrays: Mapping[str, Array]) -> bool:
        """Store an entry; whether it was stored."""
        data = seal(pack(arrays))
        if self.problem is not None or len(data) > self.max_bytes:
            return False
        path = Path(self._place(fingerprint, content))
        try:
            with self._lock:
                self._make_room(len(data))
                with replacing(path, sync=False) as file:
                    file.write(data)
                self._total = (self._total or 0) + len(data)
        except OSError as error:
            why = error.why if isinstance(error, DiskFull) else error.strerror
            self.problem = f"{self.path}: {why or error}"
            warnings.warn(
                f"encoded items are no longer cached: {self.problem}; encoding goes on", RuntimeWarning, stacklevel=2
            )
            return False
        return True

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Mapping[str, Array]) -> None:
        """Store what `encoder` has just made, unless it did so on a GPU: that makes it again in less time than writing
        and reading a file takes, and a million texts would push everything else out."""
        if at_once(encoder) == 1:
            self.put(fingerprint, content, arrays)

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size, _ in self._entries())

    def count(self) -> int:
        """How many entries there are."""
        return sum(1 for _ in self._entries())

    def set_limit(self, max_bytes: int) -> None:
        """Give the folder another limit, for all who open it from now on; what is too much goes at once."""
        self.max_bytes = _checked(max_bytes)
        with replacing(self.path / LIMIT_FILE, sync=False) as file:
            file.write(str(max_bytes).encode())
        with self._lock:
            self._total = None
            self._make_room(0)

    def clear(self) -> None:
        """Remove every entry."""
        with self._lock:
            for path, _, _ in self._entries():
                self._remove(path)
            self._total = None

    def _kept_limit(self) -> int:
        """What `set_limit` wrote; a file that says anything else is not heeded."""
        try:
            said = read_regular(self.path / LIMIT_FILE, _LIMIT_DIGITS)
        except (OSError, LimitExceeded):
            return DEFAULT_MAX_BYTES
        return int(said) if said.isdigit() else DEFAULT_MAX_BYTES

    def _place(self, fingerprint: str, content: str) -> str:
        made = hashlib.sha256(f"{fingerprint}\0{content}".encode()).hexdigest()
        return f"{self._folder}{os.sep}{made[:2]}{os.sep}{made[2:40]}{_SUFFIX}"  # a Path takes longer than looking

    def _make_room(self, wanted: int) -> None:
        if self._total is None:
            self._total = self.size()
        if self._total + wanted <= self.max_bytes:
            return
        entries = sorted(self._entries(), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in entries)  # counted anew: other processes write here too
        target = min(self.max_bytes * KEPT_AFTER_EVICTION, self.max_bytes - wanted)
        for path, size, _ in entries:
            if total <= target:
                break
            self._remove(path)
            total -= size
        self._total = total

    def _entries(self) -> Iterator[tuple[Path, int, float]]:
        """Path, bytes and time of the last use; entries that vanish meanwhile are left out."""
        for path in self.path.glob(f"*/*{_SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                yield path, found.st_size, found.st_mtime

    def _remove(self, path: Path | str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _checked(max_bytes: int) -> int:
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or not 0 <= max_bytes < 10**_LIMIT_DIGITS:
        raise InvalidInput(f"max_bytes must be a whole number of bytes from 0, not {shown(max_bytes)}")
    return max_bytes
