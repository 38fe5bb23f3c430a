"""`zipfian serve` under load: 64 clients while another process adds and commits, beside tantivy behind a thin service.

    python -m benchmarks.serve                               # two minutes each; results/speed/serve.json
    python -m benchmarks.serve --seconds 10 --documents 20000 --json build/serve.json
    python -m benchmarks.serve --before ../older/src         # and the sources of an older version, in the same run

Everything is on this machine's loopback. A collection of made-up texts (the *lexical* shape) and ready-made terms (the
*visual* one) is asked for words: the same queries, clients and commits for both services, one after the other; then
zipfian with a client that sends garbage, and with everything in its answers that it gives unasked. Clients, writer and
services share the processors, so answers per second depend on whatever else the machine does; the processor time of the
service's own process for each answer depends on it less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import clients, machine, workloads

KEPT = Path("results/speed/serve.json")
BATCH = 50
"""Documents of a commit."""
RING = 1_000
"""Ids that the writer replaces again and again, so that the collection keeps its size."""
READY_S = 240.0
K = 10
BARE = {"k": K, "explain": "none", "documents": False}
"""Ids and scores, which is what the peer answers with."""
FULL = {"k": K}
"""As asked for by default: texts, metadata and each field's part, too."""
ROUTES = {"zipfian": "/v1/collections/items/search", "tantivy": "/search"}
EVERY_S = 10.0
"""Between two looks at the memory."""
SETTLE = 0.25
"""Memory is compared from this share of the time on: caches fill first."""


def texts_and_queries(documents: int) -> tuple[list[str], list[str], workloads.Workload]:
    """Texts of made-up words, queries of 3 to 8 words of one of them, and ready-made terms."""
    made = workloads.generate(workloads.Shape("lexical", documents, 200_000, 1.2, 0.75, 3))
    terms = workloads.generate(workloads.Shape("visual", documents, 18_432, 1.5, 0.75, 1))
    texts = []
    for d in range(made.n_docs):
        part = slice(made.indptr[d], made.indptr[d + 1])
        counted = zip(made.indices[part].tolist(), made.values[part].tolist(), strict=True)
        texts.append(" ".join(f"w{term}" for term, count in counted for _ in range(int(count))))
    queries = [" ".join(f"w{term}" for term in made.query(i)[0].tolist()) for i in range(len(made.q_indptr) - 1)]
    return texts, queries, terms


def build(folder: Path, documents: int) -> tuple[list[str], dict[str, float]]:
    """Both indexes over the same texts; the queries, and seconds that each build took."""
    import zipfian as zf
    from benchmarks import thin

    texts, queries, terms = texts_and_queries(documents)
    took = {}
    begun = time.perf_counter()
    fields = {"words": zf.Words(language="none", stem=False), "codes": zf.Sparse(18_432)}

    def given() -> Iterator[dict[str, Any]]:
        for d, text in enumerate(texts):
            part = slice(terms.indptr[d], terms.indptr[d + 1])
            codes = zf.Terms(terms.indices[part], terms.values[part])
            yield {"id": f"d{d}", "text": text, "terms": {"codes": codes}}

    with zf.Collection.create(folder / "items.zf", fields, encodings=False) as items:
        items.add(given())
        items.commit()
    took["zipfian"] = round(time.perf_counter() - begun, 1)
    begun = time.perf_counter()
    thin.build(folder / "tantivy", ((f"d{d}", text) for d, text in enumerate(texts)))
    took["tantivy"] = round(time.perf_counter() - begun, 1)
    (folder / "texts.json").write_text(json.dumps(texts[:RING]))
    return queries, took


def write(engine: str, folder: Path, seconds: float) -> None:
    """The other process: a commit a second, until the time is over; prints how many there were."""
    texts = json.loads((folder / "texts.json").read_text())
    replace = _replacer(engine, folder)
    end, commits = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        start = commits * BATCH
        replace([(f"new{i % RING}", texts[i % len(texts)]) for i in range(start, start + BATCH)])
        commits += 1
        time.sleep(max(0.0, min(1.0, end - time.monotonic())))
    print(commits)


def _replacer(engine: str, folder: Path) -> Callable[[list[tuple[str, str]]], None]:
    """What puts documents in the place of those with their ids, and commits."""
    if engine == "tantivy":
        from benchmarks import thin

        return thin.Writer(folder / "tantivy").replace
    import zipfian as zf

    items = zf.Collection.open(folder / "items.zf", "w", encodings=False)

    def replace(new: list[tuple[str, str]]) -> None:
        items.upsert({"id": doc_id, "text": text, "terms": {"codes": {1: 1.0}}} for doc_id, text in new)
        items.commit()

    return replace


@contextmanager
def service(engine: str, folder: Path, source: Path | None) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A service in a process of its own, ready, from these sources or from those at hand; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    if engine == "zipfian":
        command = ["zipfian", "serve", f"items={folder / 'items.zf'}", "--port", str(port), "--log-json"]
    else:
        command = ["benchmarks.serve", "--thin", str(port), "--folder", str(folder)]
    with (folder / f"{engine}.log").open("ab") as log:
        env = None if source is None else {**os.environ, "PYTHONPATH": str(source)}
        process = subprocess.Popen([sys.executable, "-m", *command], stderr=log, env=env)
    try:
        _wait(port, process, folder / f"{engine}.log")
        yield process, port
    finally:
        process.terminate()
        process.wait(60)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.2)
    raise SystemExit(f"the service did not become ready: {log.read_text()[-2_000:]}")


def resident_mb(pid: int) -> float:
    """Memory of a process that is not shared with files (Linux); 0 where that cannot be told."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)
    return round(int(found[1]) / 1024, 1) if found else 0.0


def processor_s(pid: int) -> float:
    """Processor time of a process so far (Linux); 0 where that cannot be told."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    engine: str, folder: Path, queries: list[str], how: dict[str, Any], count: int, seconds: float,
    garbage: bool = False, writing: bool = True, source: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One service, its clients in a process of their own, and a writer unless nothing is to change."""
    with service(engine, folder, source) as (process, port):
        before, worked = os.getloadavg()[0], processor_s(process.pid)
        asked = folder / "load.json"
        asked.write_text(json.dumps({
            "port": port, "path": ROUTES[engine], "clients": count, "seconds": seconds, "garbage": garbage,
            "bodies": [{"text": text, **how} for text in queries],
        }))  # fmt: skip
        here = [sys.executable, "-m", "benchmarks.serve", "--folder", str(folder)]
        written = str(seconds if writing else 0.0)
        writer = subprocess.Popen([*here, "--write", engine, "--seconds", written], stdout=subprocess.PIPE)
        caller = subprocess.Popen([*here, "--load", str(asked)], stdout=subprocess.PIPE)
        memory, begun = [(0.0, resident_mb(process.pid))], time.monotonic()
        while caller.poll() is None and time.monotonic() - begun < seconds + 120:
            passed = time.monotonic() - begun
            if passed >= EVERY_S * len(memory):
                memory.append((round(passed, 1), resident_mb(process.pid)))
            time.sleep(0.2)
        told, _ = caller.communicate(timeout=60)
        worked = processor_s(process.pid) - worked
        memory.append((round(time.monotonic() - begun, 1), resident_mb(process.pid)))
        commits, _ = writer.communicate(timeout=60)
        settled = [mb for at, mb in memory if at >= SETTLE * seconds]
        answered = json.loads(told)
        return {
            "engine": engine, **answered, "commits": int(commits), "memory_mb": memory,
            "processor_ms": round(1e3 * worked / max(1, answered["answers"]), 2),
            "memory_settled_mb": settled[0], "memory_end_mb": settled[-1],
            "memory_most_mb": max(mb for _, mb in memory),
            "load_before": round(before, 2), "load_after": round(os.getloadavg()[0], 2),
        }  # fmt: skip


def table(found: dict[str, Any]) -> str:
    """The rows of docs/benchmarks.md."""
    lines = [
        "| service | processor ms / answer | answers/s | p50 / p95 / p99 ms | 503 | failed | commits | "
        "memory, MB: start, each 10 s, end |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, run in found["runs"].items():
        lines.append(
            f"| {name} | {run['processor_ms']:.1f} | {run['per_second']:,.0f} | "
            f"{run['p50_ms']:.0f} / {run['p95_ms']:.0f} / {run['p99_ms']:.0f} | "
            f"{run['busy_503']} | {run['failed']} | {run['commits']} | "
            f"{', '.join(f'{mb:.0f}' for _, mb in run['memory_mb'])} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each of the runs")
    parser.add_argument("--before", type=Path, help="the folder src of another version, to measure in the same run")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--note", default="", help="what else the machine did; kept with the result")
    parser.add_argument("--json", type=Path, default=KEPT)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", choices=list(ROUTES), help=argparse.SUPPRESS)
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--thin", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load is not None:
        print(json.dumps(clients.load(**json.loads(args.load.read_text()))))
    elif args.write is not None:
        write(args.write, args.folder, args.seconds)
    elif args.thin is not None:
        _thin(args.folder, args.thin)
    else:
        _all(args)


def _thin(folder: Path, port: int) -> None:
    from benchmarks import thin
    from zipfian.serve.settings import ServeSettings

    with socket.socket(proto=socket.IPPROTO_TCP) as taken:  # or asyncio would hold small writes back
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        thin.serve(folder / "tantivy", taken, ServeSettings().threads)


def _all(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="zipfian-load-") as name:
        folder = Path(name)
        queries, took = build(folder, args.documents)
        print(f"built: {took} s", file=sys.stderr, flush=True)
        found: dict[str, Any] = {
            "documents": args.documents, "clients": args.clients, "k": K, "queries": len(queries), "build_s": took,
            "tantivy": machine.distribution_version("tantivy"), "machine": machine.describe(), "note": args.note,
            "runs": {},
        }  # fmt: skip
        before = {} if args.before is None else {"source": args.before.resolve()}
        runs: dict[str, dict[str, Any]] = {
            "zipfian serve, ids and scores": {"how": BARE},
            "tantivy behind a thin service, ids and scores": {"engine": "tantivy", "how": BARE},
            "zipfian serve, and a client that sends garbage": {"how": BARE, "garbage": True},
            "zipfian serve, with texts and each field's part": {"how": FULL},
            "without commits: ids and scores": {"how": BARE, "writing": False},
            "without commits: texts and parts": {"how": FULL, "writing": False},
        }
        if before:
            runs["older version: ids and scores"] = {"how": BARE, **before}
            runs["older version: with texts and each field's part"] = {"how": FULL, **before}
            runs["older version, without commits: ids and scores"] = {"how": BARE, "writing": False, **before}
            runs["older version, without commits: texts and parts"] = {"how": FULL, "writing": False, **before}
        for label, chosen in runs.items():
            given = {"engine": "zipfian", "folder": folder, "queries": queries, "count": args.clients, **chosen}
            run = measure(seconds=args.seconds, **given)
            found["runs"][label] = run
            print(label, {key: run[key] for key in run if key != "memory_mb"}, file=sys.stderr, flush=True)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
