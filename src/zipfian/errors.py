"""Every error zipfian raises on purpose: one root, small leaves, each also a built-in.

A message says what was wrong, the value received, and what to do next.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_LONGEST = 80
_LARGEST_BITS = 256


class _Repr(reprlib.Repr):
    """A few levels and a few elements of anything; a whole number of thousands of digits has no `repr` at all."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, _LONGEST, _LONGEST

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= _LARGEST_BITS else f"a number of {x.bit_length()} bits"


def shown(value: Any) -> str:
    """A value as it stands in a message: short whatever it is, and never an error of its own."""
    found = _Repr().repr(value)
    return found if len(found) <= _LONGEST else found[: _LONGEST - 3] + "..."


class ZipfianError(Exception):
    """Root of all errors raised on purpose by zipfian."""


class InvalidInput(ZipfianError, ValueError):
    """An argument, a document or a query that cannot be used as given."""


class NotThere(InvalidInput, LookupError):
    """A document that a service does not have."""


class LimitExceeded(ZipfianError, ValueError):
    """A value above one of the safety limits of `zipfian.limits`."""


class MissingExtra(ZipfianError, ImportError):
    """An optional dependency is not installed; the message holds the install command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the optional extra '{extra}': pip install 'zipfian[{extra}]'")
        self.extra = extra


def check_extra(what: str, extra: str, *modules: str) -> None:
    """`MissingExtra` unless these modules are installed, none of which is loaded: asked before long work, not after."""
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise MissingExtra(what, extra)


class WeightsNotFound(ZipfianError, FileNotFoundError):
    """No source has a model's weights; the message lists what was tried."""

    def __init__(self, model: str, file: str, sha256: str, tried: Sequence[str]) -> None:
        self.tried = tuple(tried)
        super().__init__(
            f"{model}: no source has {file} (sha256 {sha256}). Tried: {'; '.join(tried) or 'the cache only'}. "
            f"Copy the file to this machine and run: zipfian weights get {model} --from FILE"
        )


class ModelNotFound(WeightsNotFound):
    """No such folder of a hub model, and no hub to ask or the hub does not have it."""

    def __init__(self, model: str, problem: str) -> None:
        self.tried = (model,)
        name = "NAME" if model.startswith((".", "/", "~")) or model.count("/") != 1 else model  # a folder is no name
        super(WeightsNotFound, self).__init__(
            f"{model}: {problem}. Give the path of a local folder with the model, or fetch it where the hub can be "
            f"reached ('hf download {name} --local-dir FOLDER') and copy the folder to this machine"
        )


class WeightsCorrupt(ZipfianError, RuntimeError):
    """A weight file whose content is not the pinned one; it is never used."""

    def __init__(self, file: Path, sha256: str) -> None:
        super().__init__(
            f"{file}: its sha256 is not {sha256}. It was not used; 'zipfian weights get' fetches a right one"
        )
        self.file = file


class ImageUnreadable(ZipfianError, ValueError):
    """A picture that is damaged, cut short or of no known format; `file` names it."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file
        self.problem = problem


class PictureGone(ZipfianError, FileNotFoundError):
    """A picture of a document that is neither where it was indexed nor in a folder that was named."""

    def __init__(self, path: str, folders: Sequence[str]) -> None:
        looked = f", nor under that name in {', '.join(folders)}" if folders else ""
        self.problem = (
            "the picture is not where it was indexed; if its folder was moved, name the new one with "
            "pictures=[FOLDER], or --pictures FOLDER"
        )
        super().__init__(f"{path}: there is no such file any more{looked}; {self.problem}")


class NotAFile(ZipfianError, OSError):
    """A path that leads to no regular file: a folder, a pipe, a device, or no path at all."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}; give the path of an ordinary file")
        self.problem = problem


class ShardDamaged(ZipfianError, RuntimeError):
    """A file of an encoded shard is missing or not what was written; `file` names it."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(
            f"{file}: {problem}. Nothing of it was used; copy the shard again, or run the 'zipfian encode' command "
            "that made it again, which encodes what is lost"
        )
        self.file = file
        self.problem = problem


class DiskFull(ZipfianError, OSError):
    """A disk, or a user's share of it, has no room for what is being written; the message says where."""

    def __init__(self, message: str, why: str = "the disk is full") -> None:
        super().__init__(message)
        self.errno = errno.ENOSPC
        self.why = why


@contextlib.contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Around every write of a file: a full disk becomes `DiskFull`, which names the path and says what to do."""
    try:
        yield
    except DiskFull:
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        why = "the disk is full" if error.errno == errno.ENOSPC else "the quota of this user on the disk is used up"
        raise DiskFull(
            f"{path}: {why}. What was complete before is untouched; free some space there, then repeat the call", why
        ) from error


class DeviceMemory(ZipfianError, MemoryError):
    """A GPU has no room for the least that can be done at a time."""

    def __init__(self, device: str, what: str, instead: str) -> None:
        super().__init__(
            f"device {device!r} has too little free memory for {what}. Look at `nvidia-smi` for what else uses it, "
            f"{instead}"
        )


class DeviceFailed(ZipfianError, RuntimeError):
    """A GPU or its driver broke down in the middle; nothing that was complete before is lost."""

    def __init__(self, device: str, cause: BaseException) -> None:
        said = str(cause).strip().partition("\n")[0][:300] or type(cause).__name__
        super().__init__(
            f"device {device!r} failed: {said}. What was complete before is kept: repeat the command in a new process, "
            "and it goes on from there; device='cpu' does without the device"
        )


class IndexNotFound(ZipfianError, FileNotFoundError):
    """The path holds no collection."""


class IndexExists(ZipfianError, FileExistsError):
    """`create` was asked for a path that already holds something."""


class IndexLocked(ZipfianError, RuntimeError):
    """Another writer, in this or in another process, has the collection open."""


class IndexCorrupt(ZipfianError, RuntimeError):
    """A committed file is missing, damaged or not the one the manifest names.

    `file` is its name inside the collection.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(
            f"{file}: {problem}. The collection was left untouched; run 'zipfian check PATH' for a full report"
        )
        self.file = file
        self.problem = problem


class FileGone(IndexCorrupt):
    """A file that the manifest names is not there: lost, or removed by a commit newer than the manifest read."""


class FormatTooNew(ZipfianError, RuntimeError):
    """Written by a newer zipfian: upgrade the package."""


class FormatTooOld(ZipfianError, RuntimeError):
    """Written by an older zipfian whose format is no longer read."""


class FingerprintMismatch(ZipfianError, ValueError):
    """Encoder, vocabulary or tokenizer differ from those the collection was built with."""


class NotTrusted(ZipfianError, PermissionError):
    """A collection names a file or a model that nobody who opened it has allowed; it was not touched."""


class ReadOnly(ZipfianError, PermissionError):
    """A write was asked of a collection opened for reading."""


class EngineUnavailable(ZipfianError, ConnectionError):
    """No node answered, or none answered in time, after all retries. Nothing acknowledged is lost: repeat the call."""


class EngineRefused(ZipfianError, RuntimeError):
    """The cluster understood and said no; `status` is its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Rejection(NamedTuple):
    """One document the cluster would not take, and why."""

    id: str
    status: int
    reason: str


class DocumentsRejected(ZipfianError, ValueError):
    """Some documents of a bulk were refused; all others are in. `rejected` lists every one with its reason."""

    def __init__(self, rejected: Sequence[Rejection], taken: int, shown: int = 3) -> None:
        self.rejected = tuple(rejected)
        self.taken = taken
        reasons = "; ".join(f"{r.id!r}: {r.reason} (status {r.status})" for r in self.rejected[:shown])
        more = f"; and {len(self.rejected) - shown} more" if len(self.rejected) > shown else ""
        super().__init__(
            f"{len(self.rejected)} documents were rejected, {taken} taken: {reasons}{more}. "
            "The full list is in .rejected"
        )


class DeadlineExceeded(ZipfianError, TimeoutError):
    """The time that a caller gave is over; work stopped at the next stage, and nothing was changed."""


class Refused(ZipfianError, RuntimeError):
    """A request that the service does not answer: `status` for HTTP, `code` for programs, `group` for its sort."""

    def __init__(
        self, status: int, code: str, message: str, group: str = "request", retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.group = group
        self.retry_after = retry_after
        """Seconds after which it may be asked again."""


class UnreadTexts(UserWarning):
    """Texts in a language that the encoder of some fields does not read: other fields find them."""
