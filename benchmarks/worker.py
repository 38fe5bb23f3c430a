"""One engine on one workload, in a process of its own, told what to do line by line.

    python -m benchmarks.worker ENGINE WORKLOAD PROCESSOR

Requests and answers are JSON lines on standard input and output. Whatever an engine prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, workloads
from benchmarks.engines import distribution, engine_class
from benchmarks.engines.approximate import Approximate
from benchmarks.engines.base import Engine, Unsuitable
from benchmarks.truth import CHECKED, Truth


class Worker:
    """Holds the engine between requests; every method is one."""

    def __init__(self, engine: str, workload: str, processor: int) -> None:
        machine.pin(processor)
        self.name = workload
        self.workload = workloads.load(workload)
        self.folder = Path(tempfile.mkdtemp(prefix="zipfian-bench-"))
        self.engine: Engine = engine_class(engine)(workloads.SHAPES[workload], self.folder)
        self.version = machine.distribution_version(distribution(engine))

    def build(self) -> dict[str, Any]:
        """Build the index once; compiling and starting up do not count."""
        self.engine.warm(self.workload)
        start = time.perf_counter()
        self.engine.build(self.workload)
        seconds = time.perf_counter() - start
        for i in range(self.engine.warm_up):
            self.engine.search(*self.workload.query(i % workloads.QUERIES), 10)
        return {
            "build_s": seconds, "index_bytes": self.engine.nbytes(), "scores": self.engine.scores,
            "version": self.version,
        }  # fmt: skip

    def time(self, k: int, queries: int) -> dict[str, Any]:
        """One pass over the first queries -> milliseconds of each."""
        asked = [self.workload.query(i) for i in range(queries)]
        unit = machine.calibrate()
        self.engine.search(*asked[0], k)
        took = []
        for terms, weights in asked:
            start = time.perf_counter()
            self.engine.search(terms, weights, k)
            took.append((time.perf_counter() - start) * 1e3)
        return {
            "p50": float(np.percentile(took, 50)), "p95": float(np.percentile(took, 95)),
            "mean": float(np.mean(took)), "unit_ms": unit,
        }  # fmt: skip

    def check(self, k: int) -> dict[str, Any]:
        """Answers compared with brute force."""
        truth = Truth(self.name, self.workload)
        found = [truth.recall(i, self.engine.search(*self.workload.query(i), k), k) for i in range(CHECKED)]
        return {"recall": float(np.mean(found)), "recall_min": float(np.min(found))}

    def choose(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings of the searches from now on, of an engine that has some."""
        if isinstance(self.engine, Approximate):
            self.engine.choose(**settings)
        return {}

    def close(self) -> None:
        self.engine.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def main(engine: str, workload: str, processor: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # an engine's own messages must not get between the answers

    def answer(value: dict[str, Any]) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        worker = Worker(engine, workload, int(processor))
    except ImportError as error:
        answer({"left_out": f"not installed ({error})"})
        return
    answer({"ready": True})
    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer(getattr(worker, request.pop("do"))(**request))
            except Unsuitable as problem:
                answer({"left_out": str(problem)})
    finally:
        worker.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
