"""Two checkouts measured in turns: each is a process of its own that answers one line at a time with one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine

ROOT = Path(__file__).resolve().parent.parent


class Side:
    """A process with the sources of one checkout, running `python -m MODULE --worker ...`."""

    def __init__(self, source: Path, module: str, arguments: Sequence[str]) -> None:
        env = {**machine.one_thread(), "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", module, "--worker", *arguments]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ready = self._answer()
        """What it said when it was ready."""
        self.ms: dict[str, list[float]] = {}
        """Milliseconds by what was asked."""
        self.processor_ms: dict[str, list[float]] = {}
        """Milliseconds of processor time, where an answer names them."""

    def ask(self, what: str) -> dict[str, Any]:
        """One pass; its answer, whose times are kept."""
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        found = self._answer()
        self.ms.setdefault(what, []).extend(found["ms"])
        self.processor_ms.setdefault(what, []).extend(found.get("processor_ms", []))
        return found

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


def in_turns(sides: Mapping[str, Side], asked: Sequence[str], passes: int) -> bool:
    """Ask all sides everything, the order turned round each time; whether all gave the same hits."""
    same = True
    for number in range(passes):
        for what in asked:
            order = list(sides)[:: 1 if number % 2 == 0 else -1]
            hits = [sides[name].ask(what)["hits"] for name in order]
            same = same and all(h == hits[0] for h in hits)
    for side in sides.values():
        side.close()
    return same


def answer(ready: Mapping[str, Any], passes: Callable[[str], Mapping[str, Any]]) -> None:
    """The other end: say that the process is ready, then answer each line."""
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        print(json.dumps(passes(line.strip())), flush=True)


def spread(took: Sequence[float]) -> dict[str, float]:
    """Least, median and 95th percentile, in milliseconds."""
    return {
        "least": round(min(took), 3),
        "p50": round(float(np.percentile(took, 50)), 3),
        "p95": round(float(np.percentile(took, 95)), 3),
    }
