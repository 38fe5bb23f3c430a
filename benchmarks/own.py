"""Figures about zipfian alone: building, opening, the first search of a process, threads, bytes per document."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from benchmarks import machine, workloads

Row = tuple[str, str, str]

FIRST_SEARCH = """
import sys, time
import numpy as np
import zipfian as zf
{ready}
print(time.time())
"""
IN_MEMORY = """
index = zf.SparseIndex.from_csr(np.array([0, 1, 2]), np.array([0, 1]), np.array([1, 2], np.float32), 2)
index.search([0, 1])
"""
FROM_FILES = """
found = zf.Collection.open(sys.argv[1]).search((np.arange(5, 21), np.ones(16)), fields="visual")
assert len(found) == 10
"""


def run(n_docs: int, repeats: int = 5) -> list[Row]:
    """All of them. `n_docs` documents of the visual shape (100k or 1M, or 10k to try it out)."""
    name = {10_000: "visual-10k", 100_000: "visual-100k", 1_000_000: "visual-1m"}[n_docs]
    workload = workloads.load(name)
    index, rows = build(workload, repeats)
    rows += batch(index, workload, repeats)
    rows += first_search_in_memory(repeats)
    with tempfile.TemporaryDirectory(prefix="zipfian-bench-") as folder:
        rows += collection(Path(folder) / "bench.zf", workload, repeats)
    return rows


def _median(repeats: int, call: Callable[[], Any]) -> float:
    """Median seconds."""
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def build(workload: workloads.Workload, repeats: int) -> tuple[zf.SparseIndex, list[Row]]:
    def make() -> zf.SparseIndex:
        return zf.SparseIndex.from_csr(workload.indptr, workload.indices, workload.values, 18_432)

    machine.pin(0)
    index = make()
    seconds = _median(repeats, make)
    machine.pin(None)
    n = workload.n_docs
    how = f"{n:,} documents of 16 terms, one core: {n / seconds:,.0f} per second"
    kept = "8-bit impacts, and every weight once"
    return index, [
        ("build `SparseIndex`", f"{seconds:.2f} s", how),
        ("memory of `SparseIndex`", f"{index.nbytes / n:.0f} bytes per document", kept),
    ]


def batch(index: zf.SparseIndex, workload: workloads.Workload, repeats: int) -> list[Row]:
    most = os.cpu_count() or 1
    rates = {}
    for threads in sorted({1, 2, 4, 8, most}):
        if threads > most:
            continue
        call = partial(index.search_batch, workload.q_indptr, workload.q_terms, workload.q_weights, 10, threads=threads)
        call()
        # the best, not the median: on a shared machine a second processor is not always there
        rates[threads] = workloads.QUERIES / min(_median(1, call) for _ in range(2 * repeats))
    base = rates[1]
    text = ", ".join(f"{t} threads {r:,.0f}/s ({r / base:.2f} x)" for t, r in rates.items() if t > 1)
    return [("batch search, k=10", f"{base:,.0f} queries/s on one thread", text or "one processor")]


def _process(ready: str, *arguments: str, cache: str | None = None) -> float:
    """Seconds from starting an interpreter to having the hits."""
    settings = dict(os.environ)
    if cache is not None:
        settings["ZIPFIAN_CACHE_DIR"] = cache
    start = time.time()
    done = subprocess.run(
        [sys.executable, "-c", FIRST_SEARCH.replace("{ready}", ready), *arguments],
        env=settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout) - start


def first_search_in_memory(repeats: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        cold = _process(IN_MEMORY, cache=cache)
        warm = statistics.median(_process(IN_MEMORY, cache=cache) for _ in range(repeats))
    how = "from process start: imports, building a tiny `SparseIndex`, one search"
    return [
        ("first search of a process, kernels in the cache", f"{warm:.2f} s", how),
        ("first search of a process, kernels compiled", f"{cold:.1f} s", how),
    ]


def collection(path: Path, workload: workloads.Workload, repeats: int) -> list[Row]:
    """A committed collection with one field of ready-made terms in hundredths."""

    def documents() -> Iterator[dict[str, Any]]:
        for d in range(workload.n_docs):
            part = slice(workload.indptr[d], workload.indptr[d + 1])
            terms = zf.Terms(workload.indices[part], workload.values[part])
            yield {"id": f"{d:07d}", "terms": {"visual": terms}}

    n = workload.n_docs
    start = time.perf_counter()
    with zf.Collection.create(path, {"visual": zf.Sparse(18_432)}) as made:
        made.add(documents())
        made.merge()
        made.commit()
    wrote = time.perf_counter() - start

    def open_it() -> None:
        zf.Collection.open(path).close()

    opened = _median(repeats, open_it)
    with tempfile.TemporaryDirectory() as cache:
        _process(FROM_FILES, str(path), cache=cache)
        first = statistics.median(_process(FROM_FILES, str(path), cache=cache) for _ in range(repeats))
    rows = [
        ("write a collection", f"{n / wrote:,.0f} documents per second", f"{n:,} documents added, merged, committed"),
        ("open it", f"{opened * 1e3:.0f} ms", "a new reader in a running process; no search yet"),
        ("first search of a process on it", f"{first:.2f} s", "from process start, kernels in the cache"),
    ]
    rows += _searches(path, workload)
    return rows + _sizes(path, n)


def _searches(path: Path, workload: workloads.Workload) -> list[Row]:
    rows: list[Row] = []
    with zf.Collection.open(path) as opened:
        for k in (10, 200):
            asked = [workload.query(i) for i in range(200)]
            for _ in range(2):
                took = []
                for terms, weights in asked:
                    start = time.perf_counter()
                    opened.search((terms, weights), k=k, fields="visual")
                    took.append((time.perf_counter() - start) * 1e3)
                kept = "impacts cached" if len(rows) % 2 else "lists decoded on first use"
                result = f"{np.percentile(took, 50):.2f} / {np.percentile(took, 95):.2f} ms"
                rows.append((f"`Collection.search`, k={k}, p50 / p95", result, kept))
    return rows


def _sizes(path: Path, n: int) -> list[Row]:
    """Bytes per document: the field (postings, lengths, dictionary, rows for deletes), and everything else."""
    field = other = 0
    for file in path.iterdir():
        size = file.stat().st_size
        if "field" in file.name or "visual" in file.name:
            field += size
        else:
            other += size
    return [
        ("postings, lengths and terms on disk", f"{field / n:.1f} bytes per document", "16 terms in hundredths"),
        ("ids and everything else on disk", f"{other / n:.1f} bytes per document", "no text, no metadata"),
    ]
