"""The body of a request: read whole before anything is done with it, counted as it comes, and not for ever.

What it holds is counted, too, before it is parsed. Python's parser lets no other thread run until it is done, and makes
up to 24 bytes of objects of each byte: 32 MB of empty lists would hold up everybody for seconds. A picture or a long
text is one value, and quick.
"""

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


def check_json(body: bytes, most: int) -> None:
    """Refuse a body of too many values: its texts, and commas and brackets outside of them."""
    if b"\0" in body:  # in the encodings that Python's parser takes beside UTF-8, a text is not where it seems to be
        raise Refused(400, "unreadable", "the body of a request is JSON in UTF-8, which has no byte 0")
    marks = (b",", b"[", b"{")
    if len(body) <= most or sum(body.count(mark) for mark in (*marks, b'"')) <= most:
        return  # even if none of them stood in a text: pictures and most documents
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"")  # every quote that is left begins or ends a text
    found = (bare.count(b'"') + 1) // 2
    if found <= most:
        outside = b"".join(bare.split(b'"')[::2])
        found += sum(outside.count(mark) for mark in marks)
    if found > most:
        raise Refused(413, "too_many_values", f"the body of a request may hold {most:,} values at most", "limit")


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
