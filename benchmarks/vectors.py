"""The exact scan of vectors: this checkout and an older one in turns, on the same rows, beside what reading them costs.

    python -m benchmarks.vectors --old OTHER/src --vectors FILE.npz --json results/speed/vectors.json

Each side is a process of its own that holds the rows and answers the same queries; passes are interleaved. The ids and
scores of both must be equal. Rows are made from a seed: `gauss` are random directions, the worst case for any bound, as
nothing tells the best from the rest; the arrays of the file are vectors of texts, and rows are mixtures of two of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.sides import ROOT, Side, answer, in_turns, spread

QUERIES = 20
K = 10


def rows_and_queries(kind: str, n: int, file: Path | None) -> tuple[Any, Any]:
    """float32 rows, and queries that are none of them."""
    rng = np.random.default_rng(0)
    if kind == "gauss":
        return rng.standard_normal((n, 384), dtype=np.float32), rng.standard_normal((QUERIES, 384), dtype=np.float32)
    if file is None:
        raise SystemExit(f"{kind}: --vectors names no file")
    real = np.load(file)[kind].astype(np.float32)
    queries, real = real[-QUERIES:], real[:-QUERIES]
    rows = np.empty((n, real.shape[1]), np.float32)
    for start in range(0, n, 50_000):
        part = rows[start : start + 50_000]
        one, other = rng.integers(0, len(real), (2, len(part)))
        part[:] = 0.85 * real[one] + 0.5 * real[other]
    return rows, queries


def worker(kind: str, n: int, file: Path | None) -> None:
    """Answer 'one THREADS' (each query by itself) and 'batch THREADS' (all together)."""
    from zipfian.retrieve.dense import DenseSearcher, Rows

    rows, queries = rows_and_queries(kind, n, file)
    part = Rows(rows, np.ones(n, np.bool_), ("rows", kind))
    searchers = {t: DenseSearcher("dense", [part], threads=t) for t in (1, 2)}
    start = time.perf_counter()
    held = [searcher.find(queries[0], K) for searcher in searchers.values()]  # one of them keeps the codes alive

    def run(line: str) -> dict[str, Any]:
        what, threads = line.split()
        searcher, took = searchers[int(threads)], []
        found: list[Any] = []
        processor = time.process_time()
        if what == "batch":
            start = time.perf_counter()
            many = getattr(searcher, "find_many", None)
            found = many(list(queries), K) if many else [searcher.find(query, K) for query in queries]
            took = [(time.perf_counter() - start) * 1e3 / len(queries)]
        else:
            for query in queries:
                start = time.perf_counter()
                found.append(searcher.find(query, K))
                took.append((time.perf_counter() - start) * 1e3)
        processor = (time.process_time() - processor) * 1e3 / len(queries)
        return {"ms": took, "processor_ms": [processor], "hits": [[f.docs.tolist(), f.scores.tolist()] for f in found]}

    took = time.perf_counter() - start
    answer({"build_s": took, "bytes": searchers[1].nbytes, "rescored": held[0].rescored}, run)


def bandwidth(passes: int) -> dict[str, float]:
    """GB/s of a plain sum over 400 MB, the best of some passes, on one thread and on two; and per second of processor
    time, which a busy machine changes less."""
    from concurrent.futures import ThreadPoolExecutor

    import numba

    @numba.njit(nogil=True)
    def total(numbers: Any) -> int:
        found = 0
        for number in numbers:
            found += number
        return found

    numbers = np.ones(50_000_000, np.int64)
    total(numbers[:8])
    out = {}
    spent = np.inf
    with ThreadPoolExecutor(2) as pool:
        for threads in (1, 2):
            best = np.inf
            for _ in range(passes):
                start, processor = time.perf_counter(), time.process_time()
                list(pool.map(total, np.array_split(numbers, threads)))
                best = min(best, time.perf_counter() - start)
                spent = min(spent, time.process_time() - processor)
            out[f"{threads} threads"] = round(0.4 / best, 2)
    out["per processor second"] = round(0.4 / spent, 2)
    return out


PASSES = ("one 1", "one 2", "batch 2")


def compare(kind: str, n: int, file: Path | None, sources: dict[str, Path], passes: int) -> dict[str, Any]:
    """Both sides on the same rows."""
    arguments = [kind, "--rows", str(n), *([] if file is None else ["--vectors", str(file)])]
    sides = {name: Side(source, "benchmarks.vectors", arguments) for name, source in sources.items()}
    same = in_turns(sides, PASSES, passes)
    return {
        "rows": n,
        "same_hits": same,
        **{
            name: {
                "build_s": round(side.ready["build_s"], 2),
                "bytes_per_row": round(side.ready["bytes"] / n, 1),
                "ms": {what: spread(took) for what, took in side.ms.items()},
                "processor_ms": {what: spread(took) for what, took in side.processor_ms.items()},
            }
            for name, side in sides.items()
        },
    }


def table(record: dict[str, Any]) -> Iterator[str]:
    """Markdown, a row for each kind of vectors and way of asking."""
    yield "| vectors | asked | before, p50 / least ms | now, p50 / least ms | now / before | processor, before / now |"
    yield "|---|---|---:|---:|---:|---:|"
    ways = {"one 1": "one query, one thread", "one 2": "one query, two threads", "batch 2": "20 together, two threads"}
    for kind, found in record["kinds"].items():
        for what, name in ways.items():
            old, new = found["old"]["ms"][what], found["new"]["ms"][what]
            cells = f"{old['p50']:.1f} / {old['least']:.1f} | {new['p50']:.1f} / {new['least']:.1f}"
            busy = " / ".join(f"{found[side]['processor_ms'][what]['p50']:.1f}" for side in ("old", "new"))
            yield f"| {kind} | {name} | {cells} | {new['p50'] / old['p50']:.2f} | {busy} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--old", type=Path, help="the sources of an older checkout")
    parser.add_argument("--vectors", type=Path, help="a npz file with matrices of real vectors")
    parser.add_argument("--kinds", nargs="+", default=["gauss"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        worker(given.worker, given.rows, given.vectors)
        return
    sources = {"old": given.old or ROOT / "src", "new": ROOT / "src"}
    record: dict[str, Any] = {"machine": machine.describe(), "read_gb_per_s": bandwidth(15), "kinds": {}}
    if given.json and given.json.exists():
        record["kinds"] = json.loads(given.json.read_text("utf-8"))["kinds"]
    for kind in given.kinds:
        record["kinds"][kind] = compare(kind, given.rows, given.vectors, sources, given.passes)
    if given.json:
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(record)))


if __name__ == "__main__":
    main()
