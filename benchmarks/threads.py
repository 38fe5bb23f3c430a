"""Batches of searches on one thread and on two: this checkout and an older one in turns.

    python -m benchmarks.threads --old OTHER/src --json results/speed/threads.json

Processor time per query says what threads cost: where it does not grow with them, two free processors give twice the
queries. Wall-clock times depend on how free they are; `free` is the processor time divided by the wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from benchmarks import machine, workloads
from benchmarks.sides import ROOT, Side, answer, in_turns, spread

K = 10
DIM = 384
WAYS = {
    "index": "`SparseIndex.search_batch`, 16 terms",
    "terms": "`Collection.search_many`, 16 terms",
    "vectors": "`Collection.search_many`, vectors",
}
ASKED = tuple(f"{way} {threads}" for way in WAYS for threads in (1, 2))


def worker(name: str, n_vectors: int) -> None:
    """Build an index and two collections, then answer what is in `ASKED`."""
    load = workloads.load(name)
    index = zf.SparseIndex.from_csr(load.indptr, load.indices, load.values, 18_432)
    index.search_batch(load.q_indptr, load.q_terms, load.q_weights, K, threads=2)
    terms = [load.query(i) for i in range(workloads.QUERIES)]
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n_vectors, DIM), dtype=np.float32) + np.float32(0.5)
    vectors = [row + rng.standard_normal(DIM) for row in rows[:32]]
    with tempfile.TemporaryDirectory(prefix="zipfian-threads-") as folder:
        many = {
            "terms": collection(Path(folder) / "terms.zf", {"visual": zf.Sparse(18_432)}, sparse_documents(load)),
            "vectors": collection(Path(folder) / "vectors.zf", {"dense": zf.Dense(vector="default")}, given(rows)),
        }

        def run(line: str) -> dict[str, Any]:
            way, threads = line.split()
            queries: Sequence[Any] = vectors if way == "vectors" else terms
            if way != "index":
                many[way].close()
                many[way] = zf.Collection.open(Path(folder) / f"{way}.zf")  # nothing is remembered of the last pass
                many[way].search_many(queries[:4], K, 1)
            wall, processor = time.perf_counter(), time.process_time()
            if way == "index":
                hits = index.search_batch(load.q_indptr, load.q_terms, load.q_weights, K, threads=int(threads))[
                    0
                ].tolist()
            else:
                hits = [[hit.id for hit in found] for found in many[way].search_many(queries, K, int(threads))]
            took = [(end - start) * 1e3 / len(queries) for end, start in (
                (time.perf_counter(), wall), (time.process_time(), processor)
            )]  # fmt: skip
            return {"ms": took[:1], "processor_ms": took[1:], "hits": hits}

        answer({}, run)


def collection(path: Path, fields: Any, documents: Iterator[dict[str, Any]]) -> zf.Collection:
    """A committed collection, open."""
    with zf.Collection.create(path, fields) as made:
        made.add(documents)
        made.commit()
    return zf.Collection.open(path)


def sparse_documents(load: workloads.Workload) -> Iterator[dict[str, Any]]:
    for d in range(load.n_docs):
        part = slice(load.indptr[d], load.indptr[d + 1])
        yield {"id": str(d), "terms": {"visual": zf.Terms(load.indices[part], load.values[part])}}


def given(rows: Any) -> Iterator[dict[str, Any]]:
    for d, row in enumerate(rows):
        yield {"id": str(d), "vector": row}


def table(record: dict[str, Any]) -> Iterator[str]:
    """Markdown, a row for each way of asking."""
    yield "| searches | processor ms a query on 1 / 2 threads, before | now | gain of the second, now (free) |"
    yield "|---|---:|---:|---:|"
    for way, text in WAYS.items():
        cells = []
        for side in ("old", "new"):
            one, two = (record[side][f"{way} {t}"]["processor_ms"]["p50"] for t in (1, 2))
            cells.append(f"{one:.3f} / {two:.3f}")
        one, two = (record["new"][f"{way} {t}"] for t in (1, 2))
        ratio = one["ms"]["p50"] / two["ms"]["p50"]
        yield f"| {text} | {' | '.join(cells)} | {ratio:.2f} ({one['free']:.2f}, {two['free']:.2f}) |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("--old", type=Path, help="the sources of an older checkout")
    parser.add_argument("--workload", default="visual-100k")
    parser.add_argument("--vectors", type=int, default=50_000)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.worker:
        worker(asked.workload, asked.vectors)
        return
    sources = {"old": asked.old or ROOT / "src", "new": ROOT / "src"}
    what = ["--workload", asked.workload, "--vectors", str(asked.vectors)]
    sides = {side: Side(source, "benchmarks.threads", what) for side, source in sources.items()}
    record: dict[str, Any] = {"machine": machine.describe(), "workload": asked.workload, "vectors": asked.vectors}
    record["same_hits"] = in_turns(sides, ASKED, asked.passes)
    for name, side in sides.items():
        record[name] = {
            way: {
                "ms": spread(side.ms[way]),
                "processor_ms": spread(side.processor_ms[way]),
                "free": round(sum(side.processor_ms[way]) / sum(side.ms[way]), 2),
            }
            for way in ASKED
        }
    if asked.json:
        asked.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(record)))


if __name__ == "__main__":
    main()
