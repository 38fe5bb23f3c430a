"""What growing costs: one curve for each figure, from ten thousand documents to ten million.

    python -m benchmarks.growth --points visual-10k visual-100k          # measure; figures of other points stay
    python -m benchmarks.growth --points visual-10m --processor 1        # beside other work on the first one

Every step of a point is a process of its own, so that its peak of memory is that step's alone. A folder is filled in
pieces of a million documents, a process and a commit each. Peaks are those of the whole process, interpreter, libraries
and machine code (about 0.2 GB) included; where documents come as arrays, these are in the peak too, and told beside it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from benchmarks import machine, workloads

KEPT = Path("results/speed/growth.json")
POINTS = tuple(
    f"{kind}-{size}"
    for kind, sizes in (
        ("visual", ("10k", "100k", "1m", "10m")),
        ("latent", ("10k", "100k", "200k", "1m")),
        ("lexical", ("10k", "100k", "1m", "10m")),
    )
    for size in sizes
)
PARTS = ("memory", "folder")
PIECE = 1_000_000
QUERIES = 200
CHANGES = 5
FIELD = "terms"


def measure(point: str, folder: Path, processor: int, parts: Sequence[str] = PARTS) -> dict[str, Any]:
    """All steps of one point, or those in memory or in a folder alone."""
    n = workloads.SHAPES[point].n_docs
    out: dict[str, Any] = {"documents": n}
    if "memory" in parts:
        out["memory"] = _step("memory", point, folder, processor)
    if "folder" in parts:
        out["folder"] = _in_folder(point, folder, processor)
    return out


def _in_folder(point: str, folder: Path, processor: int) -> dict[str, Any]:
    n = workloads.SHAPES[point].n_docs
    pieces = [_step("fill", point, folder, processor) for _ in range(-(-n // PIECE))]
    written = {"write_s": sum(p["seconds"] for p in pieces), "write_peak": max(p["peak"] for p in pieces)}
    written["pieces_s"] = [p["seconds"] for p in pieces]
    merged = _step("merge", point, folder, processor)
    written |= {"merge_s": merged["seconds"], "merge_peak": merged["peak"], "disk": _size(folder)}
    written |= _step("search", point, folder, processor)
    return written | _step("change", point, folder, processor)


def _step(name: str, point: str, folder: Path, processor: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth", "--step", name, point, str(folder)]
    command += ["--processor", str(processor)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=machine.one_thread())
    found: dict[str, Any] = json.loads(done.stdout)
    print(f"{point} {name}: {done.stdout.strip()}", file=sys.stderr, flush=True)
    return found


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def in_memory(point: str, folder: Path) -> dict[str, Any]:
    """A `SparseIndex`: built from arrays, searched, and what it holds when the arrays are gone."""
    shape, workload = workloads.SHAPES[point], workloads.load(point)
    scoring = zf.BM25(k1=shape.k1, b=shape.b)
    end = int(workload.indptr[100])
    few = workload.indptr[:101], workload.indices[:end], workload.values[:end]
    zf.SparseIndex.from_csr(*few, shape.n_terms, scoring=scoring).search(*workload.query(0))  # code is compiled
    arrays = workload.indptr.nbytes + workload.indices.nbytes + workload.values.nbytes
    start = time.perf_counter()
    index = zf.SparseIndex.from_csr(workload.indptr, workload.indices, workload.values, shape.n_terms, scoring=scoring)
    out: dict[str, Any] = {"build_s": time.perf_counter() - start, "build_peak": machine.peak_bytes()}
    out |= {"arrays": arrays, "bytes": index.nbytes}
    queries = [workload.query(i) for i in range(QUERIES)]
    del workload, few
    out |= _searches(queries, lambda query: index.search(query[0], query[1], 10))
    return {**out, "serving": machine.resident_bytes()}


def fill(point: str, folder: Path) -> dict[str, Any]:
    """The next piece of a folder: added and committed."""
    shape, workload = workloads.SHAPES[point], workloads.load_read_only(point)
    tf: Any = {"visual": "fixed", "latent": "float32", "lexical": "count"}[shape.kind]
    start = time.perf_counter()
    if not folder.exists():
        field = zf.Sparse(shape.n_terms, tf=tf, scoring=zf.BM25(k1=shape.k1, b=shape.b))
        made = zf.Collection.create(folder, {FIELD: field}, encodings=False)
    else:
        made = zf.Collection.open(folder, "w", encodings=False)
    with made:
        first = made.count()
        made.add(_documents(workload, first, min(first + PIECE, shape.n_docs)))
        made.commit()
    return {"seconds": time.perf_counter() - start, "peak": machine.peak_bytes()}


def _documents(workload: workloads.Workload, first: int, last: int) -> Iterator[dict[str, Any]]:
    for d in range(first, last):
        part = slice(workload.indptr[d], workload.indptr[d + 1])
        yield {"id": f"{d:08d}", "terms": {FIELD: zf.Terms(workload.indices[part], workload.values[part])}}


def merge(point: str, folder: Path) -> dict[str, Any]:
    """All segments made one."""
    start = time.perf_counter()
    with zf.Collection.open(folder, "w", encodings=False) as opened:
        opened.merge()
        opened.commit()
    return {"seconds": time.perf_counter() - start, "peak": machine.peak_bytes()}


def search(point: str, folder: Path) -> dict[str, Any]:
    """Opening, the first search (norms of all documents, lists of its terms), all queries once, and again."""
    workload = workloads.load_read_only(point)
    queries = [workload.query(i) for i in range(QUERIES)]
    _warm()
    start = time.perf_counter()
    with zf.Collection.open(folder) as opened:
        out: dict[str, Any] = {"open_s": time.perf_counter() - start}
        out |= _searches(queries, lambda query: opened.search(query, k=10, fields=FIELD))
        return {**out, "serving": machine.resident_bytes(), "search_peak": machine.peak_bytes()}


def change(point: str, folder: Path) -> dict[str, Any]:
    """One document added and committed, one deleted and committed; medians of some of each, after one that is not."""
    workload = workloads.load_read_only(point)
    n = workload.n_docs
    added, deleted = [], []
    with zf.Collection.open(folder, "w", encodings=False) as opened:
        for i in range(CHANGES + 1):
            new = next(_documents(workload, i, i + 1)) | {"id": f"new-{i}"}
            added.append(_seconds(opened.add, [new]) + _seconds(opened.commit))
            deleted.append(_seconds(opened.delete, [f"{n * (i + 1) // 10:08d}"]) + _seconds(opened.commit))
    return {"add_one_s": statistics.median(added[1:]), "delete_one_s": statistics.median(deleted[1:])}


def _warm() -> None:
    """A search of a small folder, for the code to be compiled and loaded."""
    with (
        tempfile.TemporaryDirectory(prefix="zipfian-growth-") as small,
        zf.Collection.create(f"{small}/warm.zf", {FIELD: zf.Sparse(4)}, encodings=False) as made,
    ):
        made.add([{"id": "a", "terms": {FIELD: {1: 1.0}}}])
        made.commit()
        made.search({1: 1.0}, fields=FIELD)


def _seconds(call: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def _searches(queries: list[Any], ask: Callable[[Any], Any]) -> dict[str, float]:
    """Milliseconds of the first search, of all in turn, and of all once more, each the better of two."""
    cold = [1e3 * _seconds(ask, query) for query in queries]
    again = [[1e3 * _seconds(ask, query) for query in queries] for _ in range(2)]
    warm = np.min(again, axis=0)
    out = {"first_ms": cold[0]}
    for name, took in (("cold", cold[1:]), ("warm", warm)):
        out |= {f"{name}_p50_ms": float(np.percentile(took, 50)), f"{name}_p95_ms": float(np.percentile(took, 95))}
    return out


STEPS: dict[str, Callable[[str, Path], dict[str, Any]]] = {
    "memory": in_memory, "fill": fill, "merge": merge, "search": search, "change": change,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", nargs="+", choices=POINTS, default=list(POINTS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="leave one out")
    parser.add_argument("--json", type=Path, default=KEPT, help="where the records go (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where collections are made (default: for temporary files)")
    parser.add_argument("--processor", type=int, default=0, help="that every step is pinned to (default: 0)")
    parser.add_argument("--figure", type=Path, help="draw the stored records into this file, and measure nothing")
    parser.add_argument("--step", nargs=3, metavar=("STEP", "POINT", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.step:
        name, point, folder = given.step
        machine.pin(given.processor)
        print(json.dumps(STEPS[name](point, Path(folder))))
        return
    if given.figure:
        from benchmarks import growth_report

        growth_report.draw(json.loads(given.json.read_text())["points"], given.figure)
        return
    for point in given.points:
        workloads.load_read_only(point)
        room = Path(tempfile.mkdtemp(prefix="zipfian-growth-", dir=given.folder))
        try:
            found = measure(point, room / "grown.zf", given.processor, given.parts)
        finally:
            shutil.rmtree(room)
        known: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {"points": {}}
        points = known["points"]
        points[point] = {**points.get(point, {}), **found, "machine": machine.describe()}
        known["points"] = {name: points[name] for name in POINTS if name in points}
        given.json.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
