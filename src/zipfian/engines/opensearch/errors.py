"""What can go wrong between us and a cluster; roots and rules as in `zipfian.errors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zipfian.errors import ZipfianError

SHOWN = 3


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

    def __init__(self, rejected: Sequence[Rejection], taken: int) -> None:
        self.rejected = tuple(rejected)
        self.taken = taken
        shown = "; ".join(f"{r.id!r}: {r.reason} (status {r.status})" for r in self.rejected[:SHOWN])
        more = f"; and {len(self.rejected) - SHOWN} more" if len(self.rejected) > SHOWN else ""
        super().__init__(
            f"{len(self.rejected)} documents were rejected, {taken} taken: {shown}{more}. The full list is in .rejected"
        )
