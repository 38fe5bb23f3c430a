"""Clients that keep a service busy for a while, each on a connection of its own, and one that sends it garbage."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

PATIENCE_S = 60.0
"""A client that waits longer for one answer counts it as failed."""
GARBAGE_EVERY_S = 0.02
HANG_UP_S = 0.2


@dataclass
class Tally:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    """Of the answers with status 200."""
    statuses: Counter[int] = field(default_factory=Counter)
    failed: int = 0
    """Broken connections, answers that are none, any status but 200 and 503."""
    reasons: Counter[str] = field(default_factory=Counter)
    garbage: Counter[str] = field(default_factory=Counter)
    """What came back for garbage: a status, or what happened instead of one."""

    def as_json(self, passed: float) -> dict[str, Any]:
        """Figures, with milliseconds of answers."""
        ordered = sorted(self.seconds)

        def at(share: float) -> float:
            return round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0

        return {
            "seconds": round(passed, 1), "answers": len(ordered), "per_second": round(len(ordered) / passed, 1),
            "busy_503": self.statuses[503], "failed": self.failed, "reasons": dict(self.reasons),
            "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "garbage": dict(sorted(self.garbage.items())),
        }  # fmt: skip


def load(
    port: int, path: str, bodies: Sequence[dict[str, Any]], clients: int, seconds: float, garbage: bool
) -> dict[str, Any]:
    """Ask as fast as answers come, on `clients` connections, until the time is over."""
    requests = [_request(path, json.dumps(body).encode()) for body in bodies]
    tally = Tally()
    begun = time.monotonic()

    async def run() -> None:
        end = begun + seconds
        jobs = [_client(port, requests[i::clients], end, tally) for i in range(clients)]
        await asyncio.gather(*jobs, *([_garbage(port, requests, end, tally)] if garbage else []))

    asyncio.run(run())
    return tally.as_json(time.monotonic() - begun)


def _request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def _client(port: int, requests: Sequence[bytes], end: float, tally: Tally) -> None:
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    turn = 0
    while time.monotonic() < end:
        begun = time.perf_counter()
        try:
            if line is None:
                line = await asyncio.open_connection("127.0.0.1", port)
            status, body = await asyncio.wait_for(_ask(*line, requests[turn % len(requests)]), PATIENCE_S)
            tally.statuses[status] += 1
            if status == 200 and "hits" in json.loads(body):
                tally.seconds.append(time.perf_counter() - begun)
            elif status == 503:
                await asyncio.sleep(0.1)
            else:
                raise ValueError(f"status {status}: {body[:200]!r}")
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            tally.failed += 1
            tally.reasons[f"{type(error).__name__}: {error}"[:200]] += 1
            if line is not None:
                line[1].close()
            line = None
            await asyncio.sleep(0.1)
        turn += 1
    if line is not None:
        line[1].close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = head.partition("content-length:")[2].partition("\r\n")[0]
    return int(head.split(" ", 2)[1]), await reader.readexactly(int(length))


async def _garbage(port: int, requests: Sequence[bytes], end: float, tally: Tally) -> None:
    """A connection each: noise, requests cut short or with a byte changed, lengths that lie, half a request."""
    chance = random.Random(0)
    while time.monotonic() < end:
        good = chance.choice(requests)
        sent = chance.choice(
            [
                chance.randbytes(chance.randrange(1, 2_000)),
                good[: chance.randrange(1, len(good))],
                _changed(good, chance),
                good.replace(b"Content-Length: ", b"Content-Length: -"),
                good.replace(b"Content-Length: ", b"Content-Length: 99999999"),
                good.replace(b"POST /", b"POST /" + b"x" * 50_000),
                _request("/v1/collections/items/search", b"[" * 10_000),
                _request("/v1/collections/items/search", b'{"text": ' + b'"' + b"w1 " * 5_000 + b'"}'),
            ]
        )
        tally.garbage[await _send(port, sent)] += 1
        await asyncio.sleep(GARBAGE_EVERY_S)


async def _send(port: int, sent: bytes) -> str:
    """What came back; nothing does where the service waits for the rest, and the client hangs up first."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return "refused"
    try:
        writer.write(sent)
        came = await asyncio.wait_for(reader.read(16), HANG_UP_S)
        return came.split(b" ")[1].decode("latin-1") if came.startswith(b"HTTP/1.") else "closed"
    except TimeoutError:
        return "left waiting"
    except OSError:
        return "closed"
    finally:
        writer.close()


def _changed(request: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(request))
    return request[:at] + bytes([chance.randrange(256)]) + request[at + 1 :]
