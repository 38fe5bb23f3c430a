"""How much of the time a device has work, as the benchmarks count it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.gpu_busy import busy


class Device:
    """Something with a method that takes its time."""

    def work(self, *nested: Any) -> int:
        for one in nested:
            one()
        return 7


def test_what_two_calls_share_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 11.0, 12.0, 13.0, 15.0, 18.0, 18.5])
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    bench: Any = SimpleNamespace(where=SimpleNamespace(type="cpu"), idle=lambda: None)
    plain = Device.work
    with busy(bench, (Device, "work")) as account:  # from 10
        one = Device()
        assert one.work(one.work) == 7  # from 11 to 15, and within it from 12 to 13
        one.work()  # from 18 to 18.5
    assert account.seconds == 4.5 and Device.work is plain
