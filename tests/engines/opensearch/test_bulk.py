"""Retry logic against a server of our own making; the real one is in tests/cluster."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from zipfian.engines.opensearch.bulk import Bulk, BulkSettings
from zipfian.engines.opensearch.documents import Operation, deletion
from zipfian.errors import DocumentsRejected, EngineRefused, EngineUnavailable, InvalidInput, Rejection


class FakeClient:
    """Answers bulk requests from a script: statuses by id, or an exception for a whole request."""

    def __init__(self, script: list[Any] | None = None, takes: float = 0.0) -> None:
        self.script = script or []
        self.takes = takes
        self.requests: list[list[str]] = []
        self.stored: dict[str, int] = {}
        self.busy = 0
        self.most_busy = 0
        self.lock = threading.Lock()

    def call(self, method: str, path: str, body: Any = None, params: Any = None) -> Any:
        if path.endswith("_mget"):
            known = self.stored
            return {"docs": [{"_id": i, "found": i in known, "_source": {"zf_seq": known.get(i)}} for i in body["ids"]]}
        lines = body.decode().splitlines()
        ids = [json.loads(line)[a]["_id"] for line in lines for a in ("create", "index", "delete") if f'"{a}":' in line]
        with self.lock:
            self.requests.append(ids)
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            step = self.script.pop(0) if self.script else {}
        try:
            time.sleep(self.takes)
            if isinstance(step, Exception):
                raise step
            assert params == {"filter_path": "items.*.status,items.*.error"}, "and nothing else is answered"
            return {"items": [{"create": {"status": step.get(i, 201), "error": {"type": "t"}}} for i in ids]}
        finally:
            with self.lock:
                self.busy -= 1


def operation(doc_id: str, action: Any = "create", sequence: int = 1) -> Operation:
    return Operation(doc_id, action, json.dumps({action: {"_id": doc_id}}).encode() + b"\n{}\n", sequence)


def run(client: FakeClient, operations: list[Operation], **settings: Any) -> Bulk:
    pauses: list[float] = []
    bulk = Bulk(client, "x", BulkSettings(**settings), sleep=pauses.append)  # type: ignore[arg-type]
    bulk.pauses = pauses  # type: ignore[attr-defined]
    with bulk:
        for op in operations:
            bulk.put(op)
    return bulk


def test_chunks_by_documents_and_bytes() -> None:
    client = FakeClient()
    bulk = run(client, [operation(str(i)) for i in range(25)], documents=10, requests=1)
    assert [len(r) for r in client.requests] == [10, 10, 5] and bulk.outcome.taken == 25
    client = FakeClient()
    run(client, [operation(str(i)) for i in range(10)], bytes=len(operation("0").lines) * 3, requests=1)
    assert [len(r) for r in client.requests] == [3, 3, 3, 1]


def test_only_what_was_refused_for_now_is_sent_again() -> None:
    client = FakeClient([{"1": 429, "2": 503}, {"2": 429}])
    bulk = run(client, [operation(str(i)) for i in range(4)])
    assert client.requests == [["0", "1", "2", "3"], ["1", "2"], ["2"]]
    assert bulk.outcome.taken == 4 and bulk.outcome.retries == 2 and bulk.outcome.rejected == []


def test_pauses_grow() -> None:
    client = FakeClient([EngineUnavailable("away")] * 6)
    bulk = run(client, [operation("a")])
    pauses = bulk.pauses  # type: ignore[attr-defined]
    assert len(pauses) == 6 and bulk.outcome.taken == 1
    assert all(0.5 * 0.2 * 2**i <= p <= 0.2 * 2**i for i, p in enumerate(pauses))


def test_rejected_documents_are_kept_with_their_reasons() -> None:
    client = FakeClient([{"1": 400}])
    bulk = run(client, [operation(str(i)) for i in range(3)])
    assert bulk.outcome.taken == 2 and bulk.outcome.rejected == [Rejection("1", 400, "t")]
    told = str(DocumentsRejected(bulk.outcome.rejected * 5, 2))
    assert "5 documents were rejected, 2 taken" in told and "and 2 more" in told


def test_an_answer_that_was_lost_is_not_a_conflict() -> None:
    client = FakeClient([EngineUnavailable("lost"), {"a": 409, "b": 409}])
    client.stored = {"a": 7, "b": 3}
    bulk = run(client, [operation("a", sequence=7), operation("b", sequence=8), operation("c", sequence=9)])
    assert bulk.outcome.taken == 2 and bulk.outcome.present == ["b"]


def test_deletes_of_what_is_not_there_are_no_errors() -> None:
    client = FakeClient([{"a": 404}])
    bulk = run(client, [deletion("a"), deletion("b")])
    assert bulk.outcome.deleted == 1 and bulk.outcome.rejected == []


def test_too_large_requests_are_halved() -> None:
    client = FakeClient([EngineRefused("large", 413)])
    bulk = run(client, [operation(str(i)) for i in range(6)], requests=1)
    assert [len(r) for r in client.requests] == [6, 3, 3] and bulk.outcome.taken == 6
    with pytest.raises(EngineRefused):
        run(FakeClient([EngineRefused("large", 413)]), [operation("a")])


def test_patience_ends() -> None:
    client = FakeClient([EngineUnavailable("away: 503")] * 1000)
    with pytest.raises(EngineUnavailable, match=r"1 documents .* within 0.1 s: away: 503.*existing='skip'"):
        run(client, [operation("a")], patience=0.1)


def test_requests_under_way_are_bounded_and_never_share_an_id() -> None:
    client = FakeClient(takes=0.01)  # long enough that requests do meet where nothing holds them back
    same = [operation("same", "index", i) for i in range(20)]
    run(client, same, documents=1, requests=4)
    assert client.most_busy == 1 and len(client.requests) == 20
    client = FakeClient(takes=0.01)
    run(client, [operation(str(i)) for i in range(60)], documents=1, requests=3)
    assert client.most_busy == 3 and len(client.requests) == 60


@pytest.mark.parametrize("wrong", [{"documents": 0}, {"bytes": -1}, {"patience": "x"}, {"requests": True}])
def test_bad_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        BulkSettings(**wrong)
