"""A clock for the log and the budget, and settings written as a short name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zipfian.train.settings import SaeSettings

_NAMES = {"k": "k", "s": "seed", "e": "epochs", "w": "width", "b": "batch"}


class Clock:
    """Seconds since the start, for the log and the budget."""

    def __init__(self, budget: float) -> None:
        self.start, self.budget = time.perf_counter(), budget

    def now(self) -> float:
        return time.perf_counter() - self.start

    def left(self) -> float:
        return self.budget - self.now()

    def say(self, text: str) -> None:
        print(f"[{self.now():6.1f}s] {text}", flush=True)


def planned(parts: Sequence[str], base: SaeSettings) -> SaeSettings:
    """Settings from parts such as `k16`, `s0`, `e6`, `w8192`, `b4096`, `lr5` (steps of 1e-4) and `noaux`."""
    changes: dict[str, Any] = {}
    for part in parts:
        if part == "noaux":
            changes["aux_k"] = 0
        elif part.startswith("lr"):
            changes["lr"] = float(part[2:]) * 1e-4
        elif part[:1] in _NAMES:
            key = _NAMES[part[0]]
            changes[key] = float(part[1:]) if key == "epochs" else int(part[1:])
        else:
            raise SystemExit(f"{part!r} is no part of a plan: {', '.join(_NAMES)} with a number, lrX or noaux")
    return replace(base, **changes)
