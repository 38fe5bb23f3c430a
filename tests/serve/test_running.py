"""A service that really listens: turns, deadlines, slow clients, commits of others, and a stop."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

import zipfian as zf
from tests.serve.conftest import DOCUMENTS
from tests.serve.live import running
from zipfian import deadline
from zipfian.collection.folder import FolderCollection
from zipfian.errors import DeadlineExceeded
from zipfian.serve import server as serving
from zipfian.serve.work import Workers

NOTES = "/v1/collections/notes"
Start = Callable[..., int]


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(path, **settings))


def ask(port: int, url: str, body: Any = None) -> tuple[int, Any, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{url}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def search(port: int, text: str = "food") -> tuple[int, Any, Any]:
    return ask(port, f"{NOTES}/search", {"text": text})


class Held:
    """Searches that wait until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.inside = threading.Semaphore(0)
        usual = FolderCollection.search

        def held(collection: Any, query: Any, *given: Any, **more: Any) -> Any:
            if getattr(query, "text", query) == "wait":
                self.inside.release()
                assert self.go.wait(30)
            return usual(collection, query, *given, **more)

        monkeypatch.setattr(FolderCollection, "search", held)


def test_whoever_finds_no_room_is_told_to_come_back(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    port = start(workers=1, waiting=1, deadline=20)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(search, port, "wait")
        assert held.inside.acquire(timeout=20)
        second = pool.submit(search, port)
        while ask(port, "/health")[0] == 200 and waiting(port) < 1:
            time.sleep(0.01)
        status, answer, headers = search(port)
        assert (status, answer["error"]["code"], headers["retry-after"]) == (503, "busy", "1")
        held.go.set()
        assert first.result()[0] == second.result()[0] == 200
    assert search(port)[0] == 200


def waiting(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        line = next(
            line for line in answer.read().decode().splitlines() if line.startswith("zipfian_requests_waiting ")
        )
    return int(line.split()[1])


def test_others_are_answered_while_a_body_is_parsed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    parsing, go = threading.Event(), threading.Event()
    usual = Request.json

    async def slow(request: Request) -> Any:
        parsing.set()
        assert go.wait(30)
        return await usual(request)

    monkeypatch.setattr(Request, "json", slow)
    port = start(workers=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(search, port)
        assert parsing.wait(30)
        assert ask(port, "/health")[0] == 200
        assert not first.done()
        go.set()
        assert first.result()[0] == 200


def test_a_large_body_of_next_to_nothing_is_refused_unparsed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Request, "json", None)  # would be a bug's answer, 500
    many: list[list[int]] = [[]] * 200_000
    status, answer, _ = ask(start(), f"{NOTES}/search", {"text": "food", "where": {"a": {"in": many}}})
    assert (status, answer["error"]["code"]) == (413, "too_many_values")


def test_a_route_that_waits_is_an_error_and_no_deadlock() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    async def both() -> None:
        workers = Workers(1)
        with pytest.raises(RuntimeError, match="waited for the event loop"):
            await workers.run(waits, 5.0)
        workers.close()

    asyncio.run(both())


def test_whoever_waits_too_long_is_told_to_come_back(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    port = start(workers=1, waiting=5, deadline=1.0)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(search, port, "wait")
        assert held.inside.acquire(timeout=20)
        status, answer, _ = search(port)
        assert (status, answer["error"]["code"]) == (503, "busy")
        held.go.set()
        status, answer, _ = first.result()
        assert (status, answer["error"]["code"]) == (504, "deadline")
    assert ask(port, "/v1/collections")[0] == 200


def test_a_deadline_stops_work_between_stages(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    port = start(deadline=3.0)
    explained: list[str] = []
    usual = zf.Results.explain

    def slow(found: Any, hit: Any, places: bool = True) -> Any:
        explained.append(hit.id)
        time.sleep(3.5)
        return usual(found, hit, places)

    monkeypatch.setattr(zf.Results, "explain", slow)
    status, answer, _ = ask(port, f"{NOTES}/search", {"text": "food", "explain": "terms"})
    assert (status, answer["error"]["code"]) == (504, "deadline")
    assert len(explained) == 1  # of three


def test_a_deadline_is_that_of_the_call_it_was_set_for() -> None:
    deadline.check("anything")
    with deadline.until(time.monotonic() - 1.0), pytest.raises(DeadlineExceeded, match="before fusing"):
        deadline.check("fusing")
    deadline.check("anything")


def test_a_body_that_trickles_is_not_waited_for(start: Start) -> None:
    port = start(deadline=1.0)
    with socket.create_connection(("127.0.0.1", port)) as line:
        head = f"POST {NOTES}/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        line.sendall(head.encode() + b'Content-Length: 100\r\n\r\n{"text"')
        line.settimeout(20)
        assert line.recv(100).startswith(b"HTTP/1.1 408")
    assert ask(port, "/v1/collections")[0] == 200


def test_a_head_that_trickles_is_not_waited_for(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.5)
    port = start()
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.settimeout(20)
        line.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(1_000).startswith(b"HTTP/1.1 200")
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < 15:
                line.sendall(b"X")  # the next request, a letter at a time
                time.sleep(0.1)
        except OSError:
            pass
        assert time.monotonic() - begun < 10
    assert ask(port, "/health")[0] == 200


def test_a_small_answer_is_sent_at_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its head and its body are two writes; the second would wait for the client's delayed ACK, 40 ms."""
    at_once: list[int] = []
    usual = serving.Watched.connection_made

    def made(protocol: serving.Watched, transport: asyncio.Transport) -> None:
        line = transport.get_extra_info("socket")
        at_once.append(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        usual(protocol, transport)

    monkeypatch.setattr(serving.Watched, "connection_made", made)
    assert ask(start(), "/health")[0] == 200
    assert at_once == [1]


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["garbage", "two hosts", "no host", "long path", "long header", "two lengths", "negative length"],
)
def test_requests_that_are_none(start: Start, sent: bytes) -> None:
    port = start()
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.settimeout(20)
        try:
            line.sendall(sent)
            answer = line.recv(100)
        except ConnectionError:
            answer = b""
        assert answer == b"" or answer.split()[1] in (b"400", b"404", b"405", b"415", b"421")
    assert ask(port, "/health")[0] == 200


COMMITTER = """
import sys
import zipfian as zf

with zf.Collection.open(sys.argv[1], "w") as notes:
    for i in range(int(sys.argv[2])):
        notes.add([{"id": f"new{i}", "text": f"food number {i}"}])
        notes.commit()
    notes.merge()
    notes.commit()
"""


def test_commits_of_others_are_seen_and_nothing_fails(start: Start, path: Path) -> None:
    port = start(refresh=0.05)
    other = subprocess.Popen([sys.executable, "-c", COMMITTER, str(path), "20"])
    statuses = set()
    generations = []
    while other.poll() is None:
        status, answer, _ = search(port)
        statuses.add(status)
        generations.append(answer["generation"])
    assert other.returncode == 0
    assert statuses == {200}
    assert generations == sorted(generations)
    until = time.monotonic() + 20
    while ask(port, f"{NOTES}/count", {})[1]["count"] < len(DOCUMENTS) + 20:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_stop_finishes_what_was_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        with running(path, deadline=20) as port:
            taken = pool.submit(search, port, "wait")
            assert held.inside.acquire(timeout=20)
            threading.Timer(0.5, held.go.set).start()
        status, answer, _ = taken.result()
    assert status == 200
    assert "hits" in answer


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_the_command(path: Path, ended: signal.Signals) -> None:
    command = [sys.executable, "-m", "zipfian", "serve", str(path), "--port", "0", "--log-json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert line.startswith("serving notes at http://127.0.0.1:")
            port = int(line.rstrip("/\n").rpartition(":")[2])
            until = time.monotonic() + 60
            while True:
                try:
                    if ask(port, "/ready")[0] == 200:
                        break
                except urllib.error.URLError:
                    pass
                assert time.monotonic() < until
                time.sleep(0.1)
            assert search(port)[1]["hits"][0]["id"] == "b"
        finally:
            process.send_signal(ended)
            rest = process.stderr.read()
        lines = [json.loads(line) for line in rest.splitlines()]
        assert "/v1/collections/{collection}/search" in [line.get("route") for line in lines]
        assert "food" not in rest
    assert process.returncode == (0 if ended == signal.SIGINT else -signal.SIGTERM)
