"""Searches that bring their own formula: this checkout and an older one in turns, on the same made-up documents.

    python -m benchmarks.formulas --old OTHER/src --json results/speed/formulas.json

`first` asks each query under a formula that was never asked before, `again` once more under the same. `own` is the
formula that the index was built for.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import zipfian as zf
from benchmarks import machine, workloads
from benchmarks.sides import ROOT, Side, answer, in_turns, spread

QUERIES = 50
K = 10
ASKED = ("own", "first", "again", "sweep")
TEXTS = {
    "own": "the index's own formula",
    "first": "another, its first searches",
    "again": "another, the same queries again",
    "sweep": "20 settings of k1 and b, ten queries each",
}


def worker(name: str) -> None:
    """Build, then answer what is in `ASKED`."""
    load = workloads.load(name)
    n_terms = int(load.indices.max()) + 1
    index = zf.SparseIndex.from_csr(load.indptr, load.indices, load.values, n_terms)
    queries = [load.query(i) for i in range(QUERIES)]
    index.search(*queries[0], scoring=zf.BM25(k1=9.0))
    index.search(*queries[0])
    fresh = iter(range(1, 1_000))
    last = zf.BM25()

    def timed(i: int, scoring: Any, took: list[float], hits: list[Any]) -> None:
        start = time.perf_counter()
        docs, scores = index.search(*queries[i], k=K, scoring=scoring)
        took.append((time.perf_counter() - start) * 1e3)
        hits.append([docs.tolist(), scores.tolist()])

    def run(what: str) -> dict[str, Any]:
        nonlocal last
        took: list[float] = []
        hits: list[Any] = []
        if what == "sweep":
            grid = [
                zf.BM25(k1=0.5 + step / 10 + next(fresh) / 1e6, b=b) for step in range(5) for b in (0.1, 0.4, 0.7, 1)
            ]
            for scoring in grid:
                for i in range(10):
                    timed(i, scoring, took, hits)
            return {"ms": took, "hits": hits}
        last = zf.BM25(k1=2.0 + next(fresh) / 1e3, b=0.3) if what == "first" else last
        for i in range(QUERIES):
            timed(i, None if what == "own" else last, took, hits)
        return {"ms": took, "hits": hits}

    answer({}, run)


def table(record: dict[str, Any]) -> Iterator[str]:
    """Markdown, a row for each workload and way of asking."""
    yield "| documents | formula | before, p50 / p95 ms | now, p50 / p95 ms | now / before |"
    yield "|---|---|---:|---:|---:|"
    for name, found in record["workloads"].items():
        for what, text in TEXTS.items():
            old, new = found["old"][what], found["new"][what]
            cells = f"{old['p50']:.2f} / {old['p95']:.2f} | {new['p50']:.2f} / {new['p95']:.2f}"
            yield f"| {name} | {text} | {cells} | {new['p50'] / old['p50']:.2f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formulas", description=__doc__)
    parser.add_argument("--old", type=Path, help="the sources of an older checkout")
    parser.add_argument("--workloads", nargs="+", default=["visual-1m", "latent-200k"])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        worker(given.worker)
        return
    record: dict[str, Any] = {"machine": machine.describe(), "workloads": {}}
    for name in given.workloads:
        sources = {"old": given.old or ROOT / "src", "new": ROOT / "src"}
        sides = {side: Side(source, "benchmarks.formulas", [name]) for side, source in sources.items()}
        same = in_turns(sides, ASKED, given.passes)
        record["workloads"][name] = {"same_hits": same} | {
            side: {what: spread(took) for what, took in found.ms.items()} for side, found in sides.items()
        }
    if given.json:
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(record)))


if __name__ == "__main__":
    main()
