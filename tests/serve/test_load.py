"""The clients of `benchmarks.serve`: what they count, of a service that is well and of one that is not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import clients
from benchmarks.serve import table
from tests.serve.live import running

SEARCH = "/v1/collections/notes/search"
BODIES = [{"text": text, "k": 2} for text in ("food", "cats", "plants", "light")]


def test_a_service_that_is_well_fails_nobody_whatever_another_client_sends(path: Path) -> None:
    with running(path) as port:
        found = clients.load(port, SEARCH, BODIES, 4, 1.5, garbage=True)
    assert (found["failed"], found["reasons"], found["busy_503"]) == (0, {}, 0)
    assert found["answers"] > 4
    assert 0.0 < found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]
    assert sum(found["garbage"].values()) > 1
    assert not [status for status in found["garbage"] if status.startswith("5") or status == "refused"]


@contextmanager
def answering(sent: bytes) -> Iterator[int]:
    """Something that gives every connection the same bytes, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    line.recv(10_000)
                    line.sendall(sent)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.parametrize(
    ("sent", "busy", "failed"),
    [
        (b"", False, True),
        (b"HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}", False, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", False, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", False, True),
        (b"HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\n{}", True, True),  # busy, then the closed connection
    ],
    ids=["closed", "500", "no hits", "cut short", "503"],
)
def test_what_is_no_answer_is_counted(sent: bytes, busy: bool, failed: bool) -> None:
    with answering(sent) as port:
        found = clients.load(port, SEARCH, BODIES, 1, 0.5, garbage=False)
    assert found["answers"] == 0
    assert (found["busy_503"] > 0, found["failed"] > 0) == (busy, failed)


def test_percentiles_and_the_row_of_the_page() -> None:
    tally = clients.Tally([i / 1_000 for i in range(100, 0, -1)])
    tally.statuses[503] = 7
    run = tally.as_json(10.0)
    assert (run["answers"], run["per_second"], run["busy_503"]) == (100, 10.0, 7)
    assert (run["p50_ms"], run["p95_ms"], run["p99_ms"]) == (51.0, 96.0, 100.0)
    memory = [(0.0, 10.4), (10.1, 11.6), (12.0, 11.2)]
    row = table({"runs": {"one": {**run, "commits": 3, "memory_mb": memory, "processor_ms": 1.26}}})
    assert row.splitlines()[-1] == "| one | 1.3 | 10 | 51 / 96 / 100 | 7 | 0 | 3 | 10, 12, 11 |"
