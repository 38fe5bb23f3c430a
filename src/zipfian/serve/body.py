"""The body of a request: read whole before anything is done with it, counted as it comes, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.types import Message, Receive

from zipfian.errors import Refused


async def read_body(receive: Receive, headers: Mapping[str, str], most: int, until: float) -> bytes:
    """All of it; refused as soon as it is too large, whatever its headers promised, or when time is over."""
    promised = headers.get("content-length", "")
    if promised.isdigit() and len(promised) > len(str(most)) + 1:
        raise _too_large(most)
    if promised.isdigit() and int(promised) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout_at(until):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "disconnected", "the connection ended before the body did")
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(408, "too_slow", "the body took too long to arrive", "limit") from None


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that hands out a body that was read already, and then listens on."""
    waiting = [body]

    async def handed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return handed


def _too_large(most: int) -> Refused:
    return Refused(413, "too_large", f"the body of a request may have {most:,} bytes at most", "limit")
