"""What every request passes before a route sees it, and every answer on its way out.

In: a name for the log, the door (`door.py`), a key (`keys.py`), the body (`body.py`), a turn (`capacity.py`), a limit
of time.
Out: headers that tell browsers to trust nothing but the service itself.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zipfian import deadline, limits
from zipfian.errors import Refused
from zipfian.serve import door
from zipfian.serve.body import read_body, replayed
from zipfian.serve.capacity import Capacity
from zipfian.serve.keys import Keys, Role, bearer
from zipfian.serve.problems import problem
from zipfian.serve.settings import ServeSettings

API = "/v1/"
KEYED = ("/v1", "/metrics")
"""Paths that ask for a key, where there are keys; the page, its files and the state of the service do not."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: dict[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Gate:
    """The service's outermost layer."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._keys = Keys(settings.read_keys, settings.admin_keys)
        self._capacity: Capacity | None = None

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
        out = _dressed(send, scope["path"], request_id, start)
        try:
            await self._pass(scope, headers, receive, out)
        except Refused as refused:
            await problem(refused, request_id)(scope, receive, out)

    async def _pass(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        door.check(scope["method"], headers, self._settings.allowed_hosts)
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

        async with self.capacity.turn(ends):
            with deadline.until(time.monotonic() + ends - loop.time()):
                await self._app(scope, replayed(body, receive), hold)
        for message in held:  # a client that reads slowly keeps no worker
            await send(message)

    @property
    def capacity(self) -> Capacity:
        """Turns; made inside the loop that they belong to."""
        if self._capacity is None:
            self._capacity = Capacity(self._settings.threads, self._settings.waiting)
        return self._capacity

    def _role(self, path: str, headers: dict[str, str]) -> Role:
        if not self._keys:
            return "admin" if self._settings.local else "read"
        role = self._keys.role(bearer(headers.get("authorization")))
        if role == "none" and (path in KEYED or path.startswith(API)):
            raise Refused(401, "no_key", "this service asks for a key: send Authorization: Bearer KEY", "auth")
        return role


def _dressed(send: Send, path: str, request_id: str, start: float) -> Send:
    """Adds the headers of every answer."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            took = f"total;dur={(time.perf_counter() - start) * 1e3:.2f}"
            own = {**HEADERS, "x-request-id": request_id, "server-timing": took}
            # The page's files are asked for again, and usually not sent again; answers are nobody's to keep.
            own["cache-control"] = "no-store" if path.startswith(API) else "no-cache"
            kept = [(name, value) for name, value in message["headers"] if name.decode("latin-1").lower() not in own]
            added = [(name.encode(), value.encode()) for name, value in own.items()]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return dressed
