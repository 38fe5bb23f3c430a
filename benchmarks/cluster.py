"""The visual workload on a real three-node OpenSearch cluster, beside the embedded engine on the same machine.

    python -m benchmarks.cluster --out build/cluster.json              1M documents of 16 terms
    python -m benchmarks.cluster --documents 50000 --workload visual-100k
    python -m benchmarks.projection build/cluster.json                 what 100M and 1B would need

Both engines are filled to a tenth and measured, then filled and measured again; queries go to one and the other in
turn, so that a slow minute of the machine hits both. Nodes share this machine's processors with the client: rates are
those of one machine, not of three, which is why processor time is counted as well. Prints a table and, with --out,
writes the numbers as JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.workloads import SHAPES, Workload, load
from tests.cluster.server import Cluster
from zipfian import BM25, Collection
from zipfian.engines import opensearch
from zipfian.engines.opensearch import BulkSettings
from zipfian.engines.opensearch.verify import agreement
from zipfian.fields import Sparse

FIELD = "visual"
WARM_UP = 300
"""Queries before the first that counts: a young JVM is several times slower."""
HITS = (10, 200)
STATS_S = 12.0
"""Sizes on disk are counted anew every ten seconds only."""
ENGINES = ("cluster", "embedded")


def documents(workload: Workload, start: int, stop: int) -> Iterator[dict[str, Any]]:
    for i in range(start, stop):
        part = slice(workload.indptr[i], workload.indptr[i + 1])
        yield {"id": str(i), "terms": {FIELD: (workload.indices[part], workload.values[part])}}


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Bench:
    """One cluster and one folder that are filled together."""

    def __init__(self, args: argparse.Namespace, cluster: Cluster, folder: Path) -> None:
        shape = SHAPES[args.workload]
        fields = {FIELD: Sparse(shape.n_terms + 1, scoring=BM25(k1=shape.k1, b=shape.b))}
        self.unknown = ([shape.n_terms], [1.0])
        """A query that no document matches."""
        bulk = BulkSettings(documents=args.bulk, requests=2, patience=600.0)
        self.workload = load(args.workload)
        self.queries = [self.workload.query(i) for i in range(args.queries)]
        self.passes = args.passes
        self.cluster, self.folder = cluster, folder / "c.zf"
        address = f"opensearch://{cluster.hosts}/bench"
        self.big: Any = opensearch.create(
            address, fields, shards=args.shards, replicas=args.replicas, bulk=bulk, timeout=300.0
        )
        self.own: Any = Collection.create(self.folder, fields)

    def close(self) -> None:
        self.big.close()
        self.own.close()

    def step(self, start: int, stop: int) -> dict[str, Any]:
        """Fill both from one number of documents to another, and measure."""
        out: dict[str, Any] = {"documents": stop, "postings_per_query": self.postings(stop)}
        for name, collection in zip(ENGINES, (self.big, self.own), strict=True):
            out[name] = self.fill(name, collection, start, stop)
            say(f"{name}: {stop - start:,} documents, {out[name]['documents_per_s']:,.0f} a second")
        out["cluster"] |= self.sizes()
        out["embedded"]["bytes"] = self.own.stats()["bytes"]
        for name, found in self.latencies([self.unknown] * len(self.queries), 10).items():
            out[name]["fixed_ms"] = found["cpu_ms"]
        for k in HITS:
            for name, found in self.latencies(self.queries, k).items():
                out[name][f"k{k}"] = found
                say(f"{name}: {k} hits, p50 {found['p50_ms']:.2f} ms, p95 {found['p95_ms']:.2f} ms")
        sides = (self.own, self.big)
        pairs = ([side.search(query, k=10, fields=FIELD) for side in sides] for query in self.queries[:200])
        out["agreement"] = agreement(pairs, 10).to_json()
        return out

    def fill(self, name: str, collection: Any, start: int, stop: int) -> dict[str, Any]:
        def progress(taken: int) -> None:
            if taken - seen[0] >= 50_000:
                seen[0] = taken
                say(f"{name}: {start + taken:,} documents")

        seen = [0]
        began, own, nodes = time.perf_counter(), time.process_time(), self.nodes_s()
        collection.add(documents(self.workload, start, stop), progress=progress)
        collection.commit()
        seconds = time.perf_counter() - began
        own, nodes = time.process_time() - own, self.nodes_s() - nodes if name == "cluster" else 0.0
        return {
            "index_s": seconds, "documents_per_s": (stop - start) / seconds, "index_cpu_s": own + nodes,
            "index_client_cpu_s": own,
        }  # fmt: skip

    def sizes(self) -> dict[str, Any]:
        """Of the primaries, as indexed and when every shard is one segment; the folder is merged, too."""
        self.big._client.call("POST", "/bench/_flush")
        time.sleep(STATS_S)
        before = self.big.stats()
        began = time.perf_counter()
        self.big.merge()
        merged = time.perf_counter() - began
        time.sleep(STATS_S)
        after = self.big.stats()
        self.own.merge()
        self.own.commit()
        return {
            "bytes": before["bytes"], "segments": before["segments"], "merge_s": merged, "bytes_merged": after["bytes"],
            "bytes_with_replicas": after["bytes_with_replicas"], "nodes_rss_bytes": self.rss(),
        }  # fmt: skip

    def latencies(self, queries: Sequence[Any], k: int) -> dict[str, dict[str, float]]:
        """Milliseconds as a caller sees them, one query after the other, the engines in turn."""
        sides = dict(zip(ENGINES, (self.big, self.own), strict=True))
        for query in itertools.islice(itertools.cycle(queries), WARM_UP):
            for side in sides.values():
                side.search(query, k=k, fields=FIELD)
        times: dict[str, list[list[float]]] = {name: [[] for _ in range(self.passes)] for name in sides}
        cpu, nodes = dict.fromkeys(sides, 0.0), self.nodes_s()
        for i in range(self.passes):
            for query in queries:
                for name, side in sides.items():
                    start, used = time.perf_counter(), time.process_time()
                    side.search(query, k=k, fields=FIELD)
                    times[name][i].append((time.perf_counter() - start) * 1e3)
                    cpu[name] += time.process_time() - used
        theirs = {"cluster": self.nodes_s() - nodes, "embedded": 0.0}
        asked = self.passes * len(queries) / 1e3
        return {
            name: {
                **{f"p{p}_ms": float(np.median([np.percentile(one, p) for one in rows])) for p in (50, 95)},
                "cpu_ms": (cpu[name] + theirs[name]) / asked,
                "client_cpu_ms": cpu[name] / asked,
            }
            for name, rows in times.items()
        }

    def nodes_s(self) -> float:
        """Processor time of the nodes so far."""
        nodes = self.cluster.get("/_nodes/stats/process")["nodes"].values()
        return float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes)) / 1e3

    def rss(self) -> int:
        """Memory of the nodes together, where the system tells."""
        total = 0
        for node in self.cluster.nodes:
            status = Path(f"/proc/{node.pid}/status")
            lines = status.read_text().splitlines() if status.exists() else []
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
        return total

    def postings(self, n: int) -> float:
        """Entries in the lists of a query's terms, on average."""
        df = np.bincount(
            self.workload.indices[: self.workload.indptr[n]], minlength=int(self.workload.indices.max()) + 1
        )
        return float(np.mean([df[terms[terms < len(df)]].sum() for terms, _ in self.queries]))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    shape = SHAPES[args.workload]
    n = min(args.documents or shape.n_docs, shape.n_docs)
    folder = Path(tempfile.mkdtemp(prefix="zipfian-cluster-bench-"))
    rows: dict[str, Any] = {
        "workload": args.workload, "n_terms": shape.n_terms, "shards": args.shards, "replicas": args.replicas,
        "heap": args.heap, "machine": machine.describe(), "calibration_ms": [machine.calibrate()],
    }  # fmt: skip
    try:
        with Cluster(3, args.heap, quick=False, folder=folder / "nodes") as cluster:
            rows["start_s"] = cluster.start_s
            say(f"three nodes green after {cluster.start_s:.0f} s")
            bench = Bench(args, cluster, folder)
            try:
                rows["terms_per_document"] = float(np.diff(bench.workload.indptr[: n + 1]).mean())
                rows["terms_per_query"] = float(np.mean([len(terms) for terms, _ in bench.queries]))
                rows["steps"] = [bench.step(start, stop) for start, stop in ((0, n // 10), (n // 10, n))]
            finally:
                bench.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows["calibration_ms"].append(machine.calibrate())
    return rows


def table(rows: dict[str, Any]) -> str:
    """Markdown."""
    lines = []
    for step in rows["steps"]:
        both, n = [step[name] for name in ENGINES], step["documents"]
        lines += ["", f"{rows['workload']}, {n:,} documents, {step['postings_per_query']:,.0f} postings a query", ""]
        lines += [f"| | OpenSearch, 3 nodes, {rows['shards']} shards, {rows['replicas']} replica | embedded |"]
        lines += ["|---|---|---|"]
        cells = {"indexing, documents/s": [f"{b['documents_per_s']:,.0f}" for b in both]}
        cells["indexing, processor seconds (of the client)"] = [
            f"{b['index_cpu_s']:,.0f} ({b['index_client_cpu_s']:,.0f})" for b in both
        ]
        c, e = both
        cells["bytes/document, primaries"] = [
            f"{c['bytes'] / n:.0f}, one segment a shard {c['bytes_merged'] / n:.0f}", f"{e['bytes'] / n:.0f}",
        ]  # fmt: skip
        for k in HITS:
            times = [b[f"k{k}"] for b in both]
            cells[f"k={k}, p50 / p95 ms"] = [f"{t['p50_ms']:.2f} / {t['p95_ms']:.2f}" for t in times]
            cells[f"k={k}, processor ms (of the client)"] = [
                f"{t['cpu_ms']:.2f} ({t['client_cpu_ms']:.2f})" for t in times
            ]
        cells["top-10 overlap"] = [f"{step['agreement']['overlap']:.4f}", "1"]
        lines += [f"| {name} | {' | '.join(row)} |" for name, row in cells.items()]
    return "\n".join(lines).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="visual-1m", choices=sorted(s for s in SHAPES if s.startswith("visual")))
    parser.add_argument("--documents", type=int, help="only the first so many")
    parser.add_argument("--queries", type=int, default=200, help="of a pass")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--bulk", type=int, default=2_000, help="documents of a bulk request")
    parser.add_argument("--heap", default="1g", help="of each node")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = measure(args)
    print(table(rows))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
