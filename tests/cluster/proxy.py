"""A small HTTP proxy in front of a real node that spoils chosen requests.

For each request whose path ends as asked, the next fault of the plan is applied:
a number answers with that status instead of the server; "cut" sends half of the body on and drops both connections;
"lost" lets the server do the work and drops the answer; None passes the request on.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = int | str | None


class Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, ending: str, plan: Sequence[Fault]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = port
        self.ending = ending
        self.plan = list(plan)
        self.seen: list[Fault] = []
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def fault(self, path: str) -> Fault:
        with self.lock:
            if not path.partition("?")[0].endswith(self.ending):
                return None
            found = self.plan.pop(0) if self.plan else None
            self.seen.append(found)
            return found


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault(self.path)
        if isinstance(fault, int):
            error = {"type": "injected", "reason": f"the proxy says {fault}"}
            self._answer(fault, json.dumps({"error": {**error, "root_cause": [error]}, "status": fault}).encode())
            return
        if fault == "cut":
            self._half(body)
            return
        onward = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        onward.request(self.command, self.path, body or None, headers)
        answer = onward.getresponse()
        data = answer.read()
        onward.close()
        if fault == "lost":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._answer(answer.status, data, answer.getheader("Content-Type") or "application/json")

    def _half(self, body: bytes) -> None:
        """What a client that dies while sending leaves behind."""
        with socket.create_connection(("127.0.0.1", self.server.target)) as raw:
            head = f"{self.command} {self.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2])
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve

    def log_message(self, *args: Any) -> None:
        """Tests are quiet."""


@contextmanager
def proxy(port: int, ending: str, plan: Sequence[Fault]) -> Iterator[Proxy]:
    """A running proxy in front of a port of this machine."""
    server = Proxy(port, ending, plan)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
