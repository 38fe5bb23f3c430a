"""Many documents on their way into a cluster: in pieces, a few at a time, again when it was too much.

A request that is too much for the cluster (429), or that meets a node on its way down (502 to 504, a lost connection),
is sent again after a growing pause, until `patience` is over. Ids make that harmless: the same document twice is one
document. A document refused for its own sake is not tried again; it is reported with the reason.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from zipfian.engines.opensearch.client import RETRY_STATUS, Client
from zipfian.engines.opensearch.documents import Operation
from zipfian.engines.opensearch.mapping import SEQUENCE
from zipfian.errors import EngineRefused, EngineUnavailable, InvalidInput, Rejection

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
TOO_LARGE = 413
CONFLICT = 409
ANSWER = {"filter_path": "items.*.status,items.*.error"}
"""What is read of an answer: the rest, eight more values for each document, need not be written or sent."""


@dataclass(frozen=True, slots=True)
class BulkSettings:
    """How documents are sent.

    Parameters
    ----------
    bytes, documents
        Size of a request at most.
    requests
        Requests under way at once. Reading documents stops while so many wait: that is the back-pressure.
    patience
        Seconds after which a cluster that keeps refusing or not answering is an error.
    """

    bytes: int = 4 << 20
    documents: int = 1_000
    requests: int = 2
    patience: float = 120.0

    def __post_init__(self) -> None:
        for name in ("bytes", "documents", "requests", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise InvalidInput(f"bulk setting {name} must be a number above 0, not {value!r}")


@dataclass
class Outcome:
    """What became of the operations sent so far."""

    taken: int = 0
    """Documents acknowledged by the cluster."""
    deleted: int = 0
    present: list[str] = field(default_factory=list)
    """Ids that were there already and were to be left alone."""
    rejected: list[Rejection] = field(default_factory=list)
    retries: int = 0
    """Requests sent again."""


class Bulk:
    """A context manager; leaving it waits for everything that is under way."""

    def __init__(
        self,
        client: Client,
        index: str,
        settings: BulkSettings,
        acknowledged: Callable[[int], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.outcome = Outcome()
        self._client = client
        self._path = f"/{index}/_bulk"
        self._index = index
        self._settings = settings
        self._acknowledged = acknowledged
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max(1, int(settings.requests)), thread_name_prefix="zipfian-bulk")
        self._waiting: list[Operation] = []
        self._nbytes = 0
        self._busy: dict[Future[None], frozenset[str]] = {}

    def put(self, operation: Operation) -> None:
        """Take one operation; may wait for the cluster."""
        size = len(operation.lines)
        if self._waiting and (
            self._nbytes + size > self._settings.bytes or len(self._waiting) >= self._settings.documents
        ):
            self.send()
        self._waiting.append(operation)
        self._nbytes += size

    def send(self) -> None:
        """Start a request with what is waiting. Two requests under way never hold the same id: order matters."""
        if not self._waiting:
            return
        chunk, self._waiting, self._nbytes = self._waiting, [], 0
        ids = frozenset(op.id for op in chunk)
        while self._busy and (
            len(self._busy) >= self._settings.requests or any(ids & under_way for under_way in self._busy.values())
        ):
            self._settle(wait(self._busy, return_when=FIRST_COMPLETED).done)
        self._busy[self._pool.submit(self._deliver, chunk)] = ids

    def finish(self) -> None:
        """Send the rest and wait for every answer."""
        self.send()
        while self._busy:
            self._settle(wait(self._busy, return_when=FIRST_COMPLETED).done)

    def _settle(self, done: Iterable[Future[None]]) -> None:
        for future in done:
            del self._busy[future]
            future.result()
        if self._acknowledged:
            self._acknowledged(self.outcome.taken)

    def __enter__(self) -> Bulk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self.finish()
            elif isinstance(error, Exception):  # documents before a bad one are kept
                try:
                    self.finish()
                except (EngineUnavailable, EngineRefused) as e:
                    error.add_note(f"documents before it could not all be sent: {e}")
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)

    # ------------------------------------------------------------------ one request

    def _deliver(self, chunk: Sequence[Operation]) -> None:
        left = list(chunk)
        deadline = time.monotonic() + self._settings.patience
        pause = FIRST_PAUSE_S
        while left:
            problem: str
            try:
                answer = self._client.call("POST", self._path, b"".join([op.lines for op in left]), ANSWER)
                before = len(left)
                left, problem = self._sort(left, answer["items"])
                if len(left) < before:
                    pause = FIRST_PAUSE_S
            except EngineUnavailable as e:
                problem = str(e)
            except EngineRefused as e:
                if e.status != TOO_LARGE or len(left) == 1:
                    raise
                self._deliver(left[: len(left) // 2])
                self._deliver(left[len(left) // 2 :])
                return
            if left:
                if time.monotonic() + pause > deadline:
                    raise EngineUnavailable(
                        f"{len(left)} documents could not be sent within {self._settings.patience:g} s: {problem}. "
                        "Those acknowledged are safe; run the same again, with existing='skip' to go on where it ended"
                    )
                with self._lock:
                    self.outcome.retries += 1
                self._sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _sort(self, sent: list[Operation], items: list[Any]) -> tuple[list[Operation], str]:
        """Count what is done, keep what was refused for good, return what to try again and why."""
        results = [next(iter(item.values())) for item in items]
        # asked before anything is counted: if this fails, the whole request is repeated
        own = self._own(
            [op for op, r in zip(sent, results, strict=True) if op.action == "create" and r["status"] == CONFLICT]
        )
        left: list[Operation] = []
        problem = ""
        with self._lock:
            for op, result in zip(sent, results, strict=True):
                status = int(result["status"])
                if status < 300 or (status == CONFLICT and op.sequence in own):
                    self.outcome.deleted += op.action == "delete"
                    self.outcome.taken += op.action != "delete"
                elif op.action == "delete" and status == 404:
                    continue
                elif op.action == "create" and status == CONFLICT:
                    self.outcome.present.append(op.id)
                elif status in RETRY_STATUS:
                    left.append(op)
                    problem = _reason(result)
                else:
                    self.outcome.rejected.append(Rejection(op.id, status, _reason(result)))
        return left, problem

    def _own(self, operations: list[Operation]) -> set[int]:
        """Documents that are there already because an earlier try of ours put them there, whose answer was lost."""
        if not operations:
            return set()
        body = {"ids": [op.id for op in operations]}
        found = self._client.call("POST", f"/{self._index}/_mget", body, {"_source_includes": SEQUENCE})["docs"]
        there = {d["_source"].get(SEQUENCE) for d in found if d.get("found")}
        return {op.sequence for op in operations if op.sequence in there}


def _reason(result: Any) -> str:
    error = result.get("error") or {}
    cause = error.get("caused_by") or {}
    parts = [str(error.get("type", "")), str(error.get("reason", ""))]
    if cause.get("reason"):
        parts.append(str(cause["reason"]))
    return ": ".join(p for p in parts if p)[:500]
