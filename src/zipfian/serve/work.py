"""The work of one request, all of it in one thread: its JSON, its checks, the search and the answer's JSON.

The application is a coroutine, as routes of FastAPI are. When its turn comes, the request's body is in memory and the
answer goes into a list, so nothing in it waits for the event loop: a worker can run it from its beginning to its end.
The loop stays free for other connections, however large a body is, and there is one way to a thread and one back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from zipfian import deadline

Work = Callable[[], Coroutine[Any, Any, None]]


class Workers:
    """Threads that requests are worked on in."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "zipfian-worker")

    async def run(self, work: Work, seconds: float) -> None:
        """Do it in a thread, and stop between two stages when the time is over."""
        ends = time.monotonic() + seconds
        await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, _run, work, ends)

    def close(self) -> None:
        """Finish what was begun."""
        self._threads.shutdown()


def _run(work: Work, ends: float) -> None:
    with deadline.until(ends):
        coroutine = work()
        try:
            coroutine.send(None)
        except StopIteration:
            return
        coroutine.close()
        raise RuntimeError("a route waited for the event loop: in a worker there is none; call what blocks directly")
