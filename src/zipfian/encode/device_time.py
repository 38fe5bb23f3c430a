"""How long a device had work from encoders: whoever feeds one wants to know whether it had to wait.

A span of work begins and ends by the device's own clock (CUDA events, which nobody waits for) or, with the code of a
GPU on a processor, by the wall's. Threads share a device, so spans overlap: time is counted once.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zipfian.device import load_torch, torch_device

SPANS = 1_024
"""Spans that are remembered as they are; then the older ones become a sum."""


class DeviceTime:
    """The work of one device, in this process; safe to share between threads."""

    def __init__(self, torch: Any, place: Any) -> None:
        self._torch = torch
        self._place = place
        self._cuda = place.type == "cuda"
        self._lock = threading.Lock()
        self._zero = self._mark()
        self._spans: list[tuple[Any, Any]] = []
        self._before = 0.0
        self._until = 0.0
        """What became a sum, and up to when."""

    @contextmanager
    def working(self) -> Iterator[None]:
        """What is given to the device in this block is a span of work."""
        begin = self._mark()
        try:
            yield
        finally:
            end = self._mark()
            with self._lock:
                self._spans.append((begin, end))
                if len(self._spans) > SPANS:
                    self._sum_up()

    def seconds(self) -> float:
        """How long it had work so far; waits for what is under way."""
        with self._lock:
            self._sum_up()
            return self._before

    def _mark(self) -> Any:
        if not self._cuda:
            return time.perf_counter()
        event = self._torch.cuda.Event(enable_timing=True)
        event.record(self._torch.cuda.current_stream(self._place))
        return event

    def _at(self, mark: Any) -> float:
        """Seconds from the beginning."""
        if not self._cuda:
            return float(mark - self._zero)
        mark.synchronize()
        return float(self._zero.elapsed_time(mark)) / 1e3

    def _sum_up(self) -> None:
        for begin, end in sorted((self._at(begin), self._at(end)) for begin, end in self._spans):
            self._before += max(0.0, end - max(begin, self._until))
            self._until = max(self._until, end)
        self._spans.clear()


@functools.cache
def device_time(device: str) -> DeviceTime:
    """The time of a device by its checked name; one for all encoders that run there."""
    return DeviceTime(load_torch("a GPU"), torch_device(device))
