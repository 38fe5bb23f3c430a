"""How much at a time: some requests are worked on, some wait for their turn, the rest is told to come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from zipfian.errors import Refused

RETRY_AFTER = 1


class Capacity:
    """Turns of requests; belongs to one event loop."""

    def __init__(self, workers: int, waiting: int) -> None:
        self.workers = workers
        self.most_waiting = waiting
        self.working = 0
        self.waiting = 0
        self.turned_away = 0
        self._free = asyncio.Semaphore(workers)

    @asynccontextmanager
    async def turn(self, until: float) -> AsyncIterator[None]:
        """Work inside; `until` when, as the loop's clock says, a turn is still of use."""
        if self._free.locked() and self.waiting >= self.most_waiting:
            raise self._full("all workers are busy and enough requests wait")
        self.waiting += 1
        try:
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        except TimeoutError:
            raise self._full("no worker was free in time") from None
        finally:
            self.waiting -= 1
        self.working += 1
        try:
            yield
        finally:
            self.working -= 1
            self._free.release()

    def _full(self, why: str) -> Refused:
        self.turned_away += 1
        return Refused(503, "busy", f"{why}: ask again in a moment", "state", RETRY_AFTER)
