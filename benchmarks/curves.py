"""Recall against time: engines that may miss documents at several settings, and zipfian, which misses none.

    python -m benchmarks.curves --workloads visual-100k real --json results/speed/curves.json

Peers: `pip install pyseismic-lsr kannolo`. Each engine lives in a process of its own on one processor and builds once;
passes over the queries are interleaved, one setting after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine, workloads
from benchmarks.engines import APPROXIMATE, engine_class
from benchmarks.engines.approximate import Approximate
from benchmarks.speed import Remote, start

KEPT = Path("results/speed/curves.json")


def settings_of(engine: str) -> Sequence[dict[str, Any]]:
    """The points of an engine's curve; one without settings for zipfian."""
    found = engine_class(engine)
    return found.settings if issubclass(found, Approximate) else ({},)


def run(name: str, engines: Sequence[str], k: int, passes: int, queries: int, processor: int) -> dict[str, Any]:
    """All curves of a workload."""
    left_out: dict[str, str] = {}
    ready: list[tuple[Remote, dict[str, Any]]] = []
    try:
        for engine in engines:
            remote, built = start(engine, name, processor)
            if "left_out" in built:
                left_out[engine] = built["left_out"]
                continue
            built["points"] = [{"settings": settings, "passes": []} for settings in settings_of(engine)]
            for point in built["points"]:
                remote.ask("choose", settings=point["settings"])
                point["recall"] = remote.ask("check", k=k)["recall"]
            ready.append((remote, built))
        for turn in range(passes):
            for remote, built in ready:
                for point in built["points"]:
                    remote.ask("choose", settings=point["settings"])
                    point["passes"].append(remote.ask("time", k=k, queries=queries))
            print(f"{name}: pass {turn + 1} of {passes}", file=sys.stderr, flush=True)
    finally:
        for remote, _ in ready:
            remote.close()
    for _, built in ready:
        for point in built["points"]:
            for measure in ("p50", "p95"):
                point[measure] = statistics.median(one[measure] for one in point["passes"])
    documents = workloads.load(name).n_docs
    curves = {remote.engine: built for remote, built in ready}
    return {
        "workload": name,
        "documents": documents,
        "k": k,
        "queries": queries,
        "engines": curves,
        "left_out": left_out,
    }


def table(records: Sequence[dict[str, Any]]) -> str:
    """Markdown: one row for each point, and for each workload what the fastest point with a recall costs."""
    out: list[str] = []
    for record in records:
        own = record["engines"]["zipfian"]["points"][0]
        out += [
            f"### {record['workload']}: {record['documents']:,} documents, k={record['k']}", "",
            "| engine | settings of the search | recall | p50 / p95 ms | p50 / zipfian's | build s | index MB |",
            "|---|---|---:|---:|---:|---:|---:|",
        ]  # fmt: skip
        for engine, built in record["engines"].items():
            for i, point in enumerate(built["points"]):
                chosen = ", ".join(f"{name} {value}" for name, value in point["settings"].items()) or "exact"
                size = f"{built['build_s']:.1f} | {built['index_bytes'] / 1e6:.0f}" if i == 0 else " | "
                out.append(
                    f"| {engine} {built['version']} | {chosen} | {point['recall']:.3f} | {point['p50']:.3f} / "
                    f"{point['p95']:.3f} | {point['p50'] / own['p50']:.2f} | {size} |"
                )
        out += ["", *(f"Left out: {engine} ({why})." for engine, why in record["left_out"].items()), ""]
    return "\n".join(out).rstrip() + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--workloads", nargs="+", choices=list(workloads.SHAPES), default=["visual-100k"])
    parser.add_argument("--engines", nargs="+", default=["zipfian", *APPROXIMATE])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--processor", type=int, default=0)
    parser.add_argument("--json", type=Path, default=KEPT)
    given = parser.parse_args(arguments)
    known = json.loads(given.json.read_text()) if given.json.exists() else {"workloads": []}
    kept = {record["workload"]: record for record in known["workloads"]}
    for name in given.workloads:
        kept[name] = run(name, given.engines, given.k, given.passes, given.queries, given.processor)
        kept[name]["machine"] = machine.describe()
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"workloads": list(kept.values())}, indent=1) + "\n")
    print(table(list(kept.values())))


if __name__ == "__main__":
    main()
