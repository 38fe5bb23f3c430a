"""From an application to a listening process: uvicorn, with a watch on connections that never ask."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from zipfian.errors import InvalidInput
from zipfian.serve.settings import ServeSettings

HEADER_SECONDS = 10.0
"""How long a connection may take to send the head of a request."""

CONNECTIONS = 2_048
"""Connections at a time; more are answered 503."""

BACKLOG = 128


class Watched(H11Protocol):
    """Closes a connection that does not finish the head of its next request: nobody else looks before it is whole."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        self.loop.call_later(HEADER_SECONDS, self._close_if_silent, self.cycle)

    def _close_if_silent(self, before: Any) -> None:
        if self.cycle is before and not self.transport.is_closing():
            self.transport.close()


def make_server(app: ASGIApp, settings: ServeSettings) -> uvicorn.Server:
    """A server that is not running yet. When it is told to stop, it finishes what it took."""
    config = uvicorn.Config(
        app, host=settings.host, port=settings.port, http=Watched, ws="none", lifespan="on", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, timeout_keep_alive=5,
        timeout_graceful_shutdown=int(settings.deadline) + 5, limit_concurrency=CONNECTIONS,
    )  # fmt: skip
    return uvicorn.Server(config)


def listen(settings: ServeSettings) -> socket.socket:
    """The address, taken before anything is loaded: an error says so at once, and port 0 becomes a real one."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named as TCP: asyncio sends small writes at once only where a socket says so, and its connections inherit it.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(BACKLOG)  # whoever comes before the collections are open waits
    except OSError as error:
        made.close()
        raise InvalidInput(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; choose another --port"
        ) from error
    return made
