"""What every request passes before a route sees it, and every answer on its way out.

In: a name for the log, the door (`door.py`), a key (`keys.py`), the body (`body.py`), a turn (`capacity.py`), a thread
and a limit of time (`work.py`).
Out: headers that tell browsers to trust nothing but the service itself.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zipfian import limits
from zipfian.errors import Refused
from zipfian.serve import door
from zipfian.serve.body import check_json, read_body, replayed
from zipfian.serve.capacity import Capacity
from zipfian.serve.keys import Keys, Role, bearer
from zipfian.serve.metrics import Metrics
from zipfian.serve.problems import problem
from zipfian.serve.settings import ServeSettings
from zipfian.serve.work import Workers

API = "/v1/"
KEYED = ("/v1", "/metrics")
"""Paths that ask for a key, where there are keys; the page, its files and the state of the service do not."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
OWN = frozenset(name for name, _ in HEADERS) | {b"x-request-id", b"server-timing", b"cache-control"}
"""What only the gate says."""

METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")

SLOWEST = 30.0
"""Seconds, beyond the deadline, in which a client must have read its answer."""

log = logging.getLogger("zipfian.serve")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Gate:
    """The service's outermost layer."""

    def __init__(
        self, app: ASGIApp, settings: ServeSettings, capacity: Capacity, metrics: Metrics, workers: Workers
    ) -> None:  # fmt: skip
        self._app = app
        self._workers = workers
        self._settings = settings
        self._capacity = capacity
        self._metrics = metrics
        self._keys = Keys(settings.read_keys, settings.admin_keys)
        self._hosts = settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        start = time.perf_counter()
        state: dict[str, Any] = {**scope.get("state", {}), "request_id": request_id, "start": start}
        scope = {**scope, "state": state}
        out = _Dressed(send, scope["path"], request_id, start)
        try:
            await self._pass(scope, headers, receive, out)
        except Refused as refused:
            await problem(refused, request_id)(scope, receive, out)
        finally:
            self._tell(scope, out.status, time.perf_counter() - start)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        """Count it, and write a line about it. A path that no route has is not repeated: anything may stand in it."""
        route = str(getattr(scope.get("route"), "path", "")) or "other"
        self._metrics.answered(route, scope["method"] if scope["method"] in METHODS else "other", status, seconds)
        said = {"request_id": scope["state"]["request_id"], "method": scope["method"], "route": route, "status": status}
        log.info("request", extra={**said, "ms": round(seconds * 1e3, 2), **scope["state"].get("searched", {})})

    async def _pass(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        door.check(scope["method"], headers, self._hosts)
        scope["state"]["role"] = self._role(scope["path"], headers)
        if not scope["path"].startswith(API):
            await self._app(scope, receive, send)
            return
        # Names in paths may hold slashes: routes see them still encoded, and decode each name by itself.
        scope["path"] = scope["raw_path"].decode("latin-1")
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._settings.deadline
        body = await read_body(receive, headers, limits.MAX_SERVED_BODY_BYTES, ends)
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        async def work() -> None:
            check_json(body, limits.MAX_SERVED_JSON_VALUES)
            await self._app(scope, replayed(body, receive), hold)

        try:
            async with self._capacity.turn(ends):
                await self._workers.run(work, ends - loop.time())
        finally:  # what went wrong in a route has its answer, too, and goes on to the server's log
            await self._send(held, send)

    async def _send(self, held: list[Message], send: Send) -> None:
        """A client that reads slowly keeps no worker, and not for ever a connection."""
        try:
            async with asyncio.timeout(self._settings.deadline + SLOWEST):
                for message in held:
                    await send(message)
        except TimeoutError:
            log.warning("the client did not read its answer")

    def _role(self, path: str, headers: dict[str, str]) -> Role:
        if not self._keys:
            return "admin" if self._settings.local else "read"
        role = self._keys.role(bearer(headers.get("authorization")))
        if role == "none" and (path in KEYED or path.startswith(API)):
            raise Refused(401, "no_key", "this service asks for a key: send Authorization: Bearer KEY", "auth")
        return role


class _Dressed:
    """Adds the headers of every answer, and remembers its status."""

    def __init__(self, send: Send, path: str, request_id: str, start: float) -> None:
        self._send = send
        self._path = path
        self._request_id = request_id
        self._start = start
        self.status = 0
        """0: there was no answer."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            took = f"total;dur={(time.perf_counter() - self._start) * 1e3:.2f}"
            own = [
                *HEADERS,
                (b"x-request-id", self._request_id.encode()),
                (b"server-timing", took.encode()),
                # The page's files are asked for again, and usually not sent again; answers are nobody's to keep.
                (b"cache-control", b"no-store" if self._path.startswith(API) else b"no-cache"),
            ]
            kept = [(name, value) for name, value in message["headers"] if name.lower() not in OWN]
            message = {**message, "headers": [*kept, *own]}
        await self._send(message)
