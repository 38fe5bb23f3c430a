"""How much of the time a device has work: the union of the stretches in which some call was under way there."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.gpu_bench import Bench


class Busy:
    """Stretches of time on the device. Gaps between the kernels of one call count as work, copies outside do not."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._lock = threading.Lock()
        self._stretches: list[tuple[Any, Any]] = []
        self._begin = self._now()

    @property
    def seconds(self) -> float:
        """All stretches together; what two of them share counts once."""
        self._bench.idle()
        busy = until = 0.0
        for start, end in sorted((self._since(a), self._since(b)) for a, b in self._stretches):
            busy += max(0.0, end - max(start, until))
            until = max(until, end)
        return busy

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, whose stretches are kept."""

        @functools.wraps(work)
        def wrapped(*args: Any, **settings: Any) -> Any:
            start = self._now()
            try:
                return work(*args, **settings)
            finally:
                with self._lock:
                    self._stretches.append((start, self._now()))

        return wrapped

    def _now(self) -> Any:
        """A mark in what the device has to do; on a processor, which does it at once, the clock."""
        if self._bench.where.type != "cuda":
            return time.perf_counter()
        mark = self._bench.torch.cuda.Event(enable_timing=True)
        mark.record(self._bench.torch.cuda.current_stream(self._bench.where))
        return mark

    def _since(self, mark: Any) -> float:
        if isinstance(mark, float):
            return float(mark - self._begin)
        return float(self._begin.elapsed_time(mark)) / 1e3


@contextmanager
def busy(bench: Bench, *methods: tuple[type, str]) -> Iterator[Busy]:
    """Keep account of some methods while inside."""
    account = Busy(bench)
    plain = [(owner, name, getattr(owner, name)) for owner, name in methods]
    for owner, name, work in plain:
        setattr(owner, name, account.around(work))
    try:
        yield account
    finally:
        for owner, name, work in plain:
            setattr(owner, name, work)
