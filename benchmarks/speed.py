"""The speed table: every engine in its own process, on one processor, in turns.

All engines of a workload are built first and then wait; only one works at any time. Passes are interleaved (engine
after engine, again and again), so that a busy minute hits all of them, and the median over passes is reported.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks import machine, workloads
from benchmarks.engines import PLACES


class Remote:
    """An engine's process."""

    def __init__(self, engine: str, workload: str, processor: int) -> None:
        self.engine = engine
        command = [sys.executable, "-m", "benchmarks.worker", engine, workload, str(processor)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=machine.one_thread(),
        )  # fmt: skip
        self.first = self._answer()

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        if self._process.stdin is None:
            raise RuntimeError(f"{self.engine}: no pipe")
        try:
            self._process.stdin.write(json.dumps({"do": do, **values}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        problem = self._process.stderr.read().strip().splitlines() if self._process.stderr is not None else []
        return {"left_out": f"failed: {problem[-1] if problem else 'no message'}"}

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def start(engine: str, workload: str, processor: int) -> tuple[Remote, dict[str, Any]]:
    """An engine's process and what it says of its index; why it is left out, and the process has ended, otherwise."""
    remote = Remote(engine, workload, processor)
    built = remote.first if "left_out" in remote.first else remote.ask("build")
    if "left_out" in built:
        remote.close()
        _say(f"{workload} {engine}: left out, {built['left_out']}")
    else:
        _say(f"{workload} {engine}: built in {built['build_s']:.1f} s")
    return remote, built


def run(
    names: Sequence[str], engines: Sequence[str], ks: Sequence[int], passes: int, queries: int, processor: int
) -> list[dict[str, Any]]:
    """One record per workload."""
    return [_run(name, engines, ks, passes, queries, processor) for name in names]


def _run(
    name: str, engines: Sequence[str], ks: Sequence[int], passes: int, queries: int, processor: int
) -> dict[str, Any]:
    workloads.load(name)
    left_out: dict[str, str] = {}
    ready: list[tuple[Remote, dict[str, Any]]] = []
    try:
        for engine in engines:
            remote, built = start(engine, name, processor)
            if "left_out" in built:
                left_out[engine] = built["left_out"]
                continue
            for k in ks:
                built[f"check{k}"] = remote.ask("check", k=k)
                built[f"passes{k}"] = []
            _say(f"{name} {engine}: recall {built[f'check{ks[0]}']['recall']:.4f}")
            ready.append((remote, built))
        for turn in range(passes):
            for k in ks:
                for remote, built in ready:
                    built[f"passes{k}"].append(remote.ask("time", k=k, queries=queries))
            _say(f"{name}: pass {turn + 1} of {passes}")
    finally:
        for remote, _ in ready:
            remote.close()
    records = {remote.engine: summarise(built, ks) for remote, built in ready}
    return {"workload": name, "queries": queries, "passes": passes, "engines": records, "left_out": left_out}


def summarise(built: dict[str, Any], ks: Iterable[int]) -> dict[str, Any]:
    """Medians over the passes; the passes themselves are kept."""
    out = dict(built)
    for k in ks:
        runs = built[f"passes{k}"]
        out[f"k{k}"] = {key: statistics.median(r[key] for r in runs) for key in ("p50", "p95", "mean", "unit_ms")}
        out[f"k{k}"]["recall"] = built[f"check{k}"]["recall"]
        out[f"k{k}"]["spread"] = max(r["p50"] for r in runs) / min(r["p50"] for r in runs)
    return out


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


ENGINES = tuple(PLACES)
