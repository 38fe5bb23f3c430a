"""What a `SparseIndex` holds and how fast it is searched, beside another checkout and beside a matrix of scores.

    git worktree add --detach ../other COMMIT
    python -m benchmarks.memory --old ../other/src --name COMMIT

Processes with the two checkouts take turns on one processor. Of every query the best of some passes counts, of those
the median and the 95th percentile, of these the median over rounds. A matrix of finished scores, as bm25s and scipy
keep it, takes 8 bytes a posting (number and score, 32 bits each) and 4 a term.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
KEPT = Path("results/speed/memory.json")
QUERIES = 200
PASSES = 5
ROUNDS = 3


def measure(name: str) -> dict[str, float]:
    """One workload with the package that this process imports."""
    import zipfian as zf
    from benchmarks import machine, workloads

    machine.pin(0)
    shape, workload = workloads.SHAPES[name], workloads.load(name)
    scoring = zf.BM25(k1=shape.k1, b=shape.b)
    end = int(workload.indptr[100])
    few = workload.indptr[:101], workload.indices[:end], workload.values[:end]
    zf.SparseIndex.from_csr(*few, shape.n_terms, scoring=scoring).search(*workload.query(0))  # code is compiled
    start = time.perf_counter()
    index = zf.SparseIndex.from_csr(workload.indptr, workload.indices, workload.values, shape.n_terms, scoring=scoring)
    out = {"build s": time.perf_counter() - start, "bytes a document": index.nbytes / workload.n_docs}
    out["matrix"] = (8 * len(workload.indices) + 4 * (shape.n_terms + 1)) / workload.n_docs
    queries = [workload.query(i) for i in range(QUERIES)]
    for k in (10, 200):
        took = np.empty((PASSES, QUERIES))
        index.search(*queries[0], k)
        for turn in took:
            for i, (terms, weights) in enumerate(queries):
                start = time.perf_counter()
                index.search(terms, weights, k)
                turn[i] = time.perf_counter() - start
        best = 1e3 * took.min(axis=0)
        out |= {f"k={k} p50 ms": float(np.percentile(best, 50)), f"k={k} p95 ms": float(np.percentile(best, 95))}
    return out


def compare(old: Path, name: str, rounds: int) -> dict[str, dict[str, float]]:
    """One workload with both checkouts in turns -> figure -> old, new and their ratio."""
    found: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    sources = {"old": old, "new": HERE.parents[1] / "src"}
    for i in range(rounds):
        for side in ("old", "new") if i % 2 else ("new", "old"):
            paths = os.pathsep.join([str(sources[side].resolve()), str(HERE.parents[1])])
            command = [sys.executable, "-m", "benchmarks.memory", "--measure", name]
            told = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": paths}, check=True, capture_output=True, text=True
            ).stdout
            found[side].append(json.loads(told))
            print(f"{name}, round {i + 1} of {rounds}, {side}: {told.strip()}", file=sys.stderr, flush=True)
    rows = {}
    for what in found["new"][0]:
        before, after = (statistics.median(one[what] for one in found[side]) for side in ("old", "new"))
        rows[what] = {"old": before, "new": after, "ratio": after / before}
    return rows


def table(workloads: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Markdown: bytes of both and of a matrix, then new / old of every time."""
    times = [f"k={k} {what}" for k in (10, 200) for what in ("p50", "p95")]
    head = ["workload", "bytes a document, before", "now", "a matrix of scores", *times, "build"]
    lines = [head, ["---"] * len(head)]
    for name, rows in workloads.items():
        size = rows["bytes a document"]
        cells = [f"{x:,.0f}" for x in (size["old"], size["new"], rows["matrix"]["new"])]
        ratios = [f"{rows[what]['ratio']:.2f}" for what in (*(f"{time} ms" for time in times), "build s")]
        lines.append([name, *cells, *ratios])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def main() -> None:
    """Measure, print and keep."""
    from benchmarks import machine, workloads

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="src/ of the other checkout")
    parser.add_argument("--name", default="", help="which commit the other one is")
    parser.add_argument("--workloads", nargs="+", choices=list(workloads.SHAPES), default=list(workloads.MAIN))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, default=KEPT, help="where the result goes (default: %(default)s)")
    parser.add_argument("--measure", metavar="WORKLOAD", help="this checkout alone, as JSON")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    if args.old is None:
        parser.error("--old is the src/ of a checkout to compare with, such as a git worktree")
    known: dict[str, Any] = json.loads(args.json.read_text()) if args.json.exists() else {"workloads": {}}
    for name in args.workloads:
        known["workloads"][name] = compare(args.old, name, args.rounds)
        known |= {"old": args.name, "rounds": args.rounds, "machine": machine.describe()}
        args.json.write_text(json.dumps(known, indent=1) + "\n")
    print(table(known["workloads"]))


if __name__ == "__main__":
    main()
