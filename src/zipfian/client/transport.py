"""Requests and answers: one connection for each thread, errors as the library's own."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from zipfian._version import __version__
from zipfian.errors import (
    DeadlineExceeded,
    EngineRefused,
    EngineUnavailable,
    InvalidInput,
    LimitExceeded,
    NotThere,
    ReadOnly,
    ZipfianError,
    shown,
)

TRIES = 4
"""How often a request is sent while the service says that it is busy."""

LONGEST_PAUSE = 5.0


class Transport:
    """The way to one service."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"a service is reached at http://HOST:PORT or https://HOST, not {shown(url)}")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._secure = parts.scheme == "https"
        self._address = (parts.hostname, parts.port)
        self._base = parts.path.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._local = threading.local()

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Ask for something; its JSON."""
        chosen = {name: value for name, value in (query or {}).items() if value is not None}
        return json.loads(self.send("GET", f"{path}?{urlencode(chosen)}" if chosen else path))

    def post(self, path: str, body: Mapping[str, Any], method: str = "POST") -> Any:
        """Send something; the JSON that comes back."""
        return json.loads(self.send(method, path, json.dumps(body).encode()))

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """One request, sent again while the service is busy; what it answered."""
        for tried in range(1, TRIES + 1):
            status, headers, answer = self._once(method, path, body)
            if status < 400:
                return answer
            error = _error(status, answer)
            if status != 503 or tried == TRIES:
                raise error
            time.sleep(min(_seconds(headers.get("retry-after")), LONGEST_PAUSE))
        raise AssertionError("the loop above returns or raises")

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """A connection that was kept may have been closed meanwhile: then the request never arrived, and goes again."""
        kept = getattr(self._local, "connection", None)
        try:
            return self._exchange(kept or self._connected(), method, path, body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if kept is None:
                raise self._unreachable(error) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._unreachable(error) from error
        try:
            return self._exchange(self._connected(), method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._unreachable(error) from error

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"User-Agent": f"zipfian/{__version__}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        connection.request(method, self._base + path, body, headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def _connected(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        self._local.connection = kind(*self._address, timeout=self._timeout)
        made: http.client.HTTPConnection = self._local.connection
        return made

    def _unreachable(self, error: Exception) -> EngineUnavailable:
        return EngineUnavailable(
            f"{self.url} does not answer ({error or type(error).__name__}); is the service running?"
        )

    def close(self) -> None:
        """Give this thread's connection back."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdigit() else 1.0


def _error(status: int, answer: bytes) -> ZipfianError:
    """What the service said, as the error that the library would have raised."""
    try:
        said = json.loads(answer)["error"]
        code, message = str(said["code"]), str(said["message"])
    except (ValueError, KeyError, TypeError):
        code, message = "", f"the service answered with status {status}"
    if status == 503:
        return EngineUnavailable(message)
    if status == 504:
        return DeadlineExceeded(message)
    if code == "limit_exceeded" or status == 413:
        return LimitExceeded(message)
    if code == "read_only":
        return ReadOnly(message)
    if code == "unknown_document":
        return NotThere(message)
    if status in (404, 422):
        return InvalidInput(message)
    return EngineRefused(message, status)
