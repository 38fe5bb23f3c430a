"""The visual workload on a real three-node OpenSearch cluster, beside the embedded engine on the same machine.

    python -m benchmarks.cluster                      1M documents of 16 terms
    python -m benchmarks.cluster --workload visual-100k --documents 20000

Nodes share this machine's processors with the client, so rates are those of one machine, not of three. Prints a table
and, with --out, writes the numbers as JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads import SHAPES, Workload, load
from tests.cluster.server import Cluster
from zipfian import BM25, Collection, Leg
from zipfian.engines import opensearch
from zipfian.engines.opensearch import BulkSettings
from zipfian.engines.opensearch.verify import verify

WARM_UP = 50
STATS_S = 12.0
"""Sizes on disk are counted anew every ten seconds only."""


def documents(workload: Workload, n: int) -> Iterator[dict[str, Any]]:
    for i in range(n):
        part = slice(workload.indptr[i], workload.indptr[i + 1])
        yield {"id": str(i), "terms": {"visual": (workload.indices[part], workload.values[part])}}


def latencies(collection: Any, queries: list[Any], k: int) -> dict[str, float]:
    """Milliseconds as a caller sees them, one query after the other."""
    for query in queries[:WARM_UP]:
        collection.search(query, k=k, leg="visual")
    times = []
    for query in queries:
        start = time.perf_counter()
        collection.search(query, k=k, leg="visual")
        times.append((time.perf_counter() - start) * 1e3)
    return {"p50": float(np.percentile(times, 50)), "p95": float(np.percentile(times, 95))}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    shape, workload = SHAPES[args.workload], load(args.workload)
    n = min(args.documents or workload.n_docs, workload.n_docs)
    queries = [workload.query(i) for i in range(args.queries)]
    leg = {"visual": Leg.terms(shape.n_terms, scoring=BM25(k1=shape.k1, b=shape.b))}
    folder = Path(tempfile.mkdtemp(prefix="zipfian-cluster-bench-"))
    rows: dict[str, Any] = {"workload": args.workload, "documents": n, "heap": args.heap}
    try:
        with Cluster(3, args.heap, quick=False, folder=folder / "nodes") as cluster:
            rows["start_s"] = cluster.start_s
            address = f"opensearch://{cluster.hosts}/bench"
            bulk = BulkSettings(documents=args.bulk, requests=2, patience=600.0)
            remote = opensearch.create(address, leg, shards=3, replicas=args.replicas, bulk=bulk, timeout=120.0)
            rows["cluster"] = fill(remote, workload, n)
            rows["cluster"]["segments"] = remote.stats()["segments"]
            began = time.perf_counter()
            remote.merge()
            rows["cluster"]["merge_s"] = time.perf_counter() - began
            time.sleep(STATS_S)
            stats = remote.stats()
            rows["cluster"] |= {"bytes_merged": stats["bytes"], "bytes_with_replicas": stats["bytes_with_replicas"]}
            for k in (10, 200):
                rows["cluster"][f"k{k}_ms"] = latencies(remote, queries, k)
            with Collection.create(folder / "c.zf", leg) as own:
                rows["embedded"] = fill(own, workload, n)
                rows["embedded"]["bytes"] = sum(f.stat().st_size for f in (folder / "c.zf").iterdir())
                for k in (10, 200):
                    rows["embedded"][f"k{k}_ms"] = latencies(own, queries, k)
                report = verify(own, remote, queries[:200], leg="visual")
                rows["agreement"] = report.to_json()
            remote.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def fill(collection: Any, workload: Workload, n: int) -> dict[str, Any]:
    began = time.perf_counter()
    collection.add(documents(workload, n))
    collection.commit()
    seconds = time.perf_counter() - began
    return {"index_s": seconds, "documents_per_s": n / seconds}


def table(rows: dict[str, Any]) -> str:
    """Markdown."""
    n = rows["documents"]
    lines = [f"{rows['workload']}, {n:,} documents", "", "| | OpenSearch, 3 nodes | embedded |", "|---|---|---|"]
    both = [rows["cluster"], rows["embedded"]]

    def line(name: str, cells: list[str]) -> None:
        lines.append(f"| {name} | {' | '.join(cells)} |")

    line("indexing, documents/s", [f"{b['documents_per_s']:,.0f}" for b in both])
    line("bytes/document", [f"{rows['cluster']['bytes_merged'] / n:.0f} (one copy)", f"{both[1]['bytes'] / n:.0f}"])
    for k in ("k10_ms", "k200_ms"):
        line(f"{k[1:-3]} hits, p50 / p95 ms", [f"{b[k]['p50']:.1f} / {b[k]['p95']:.1f}" for b in both])
    line("top-10 overlap", [f"{rows['agreement']['overlap']:.4f}", "1"])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="visual-1m", choices=sorted(s for s in SHAPES if s.startswith("visual")))
    parser.add_argument("--documents", type=int, help="only the first so many")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--bulk", type=int, default=2_000, help="documents of a bulk request")
    parser.add_argument("--heap", default="1g", help="of each node")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = measure(args)
    print(table(rows))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
