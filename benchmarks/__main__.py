"""python -m benchmarks: the speed table, zipfian's own figures, or both."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from benchmarks import growth_report, machine, report, workloads
from benchmarks.speed import ENGINES

KEPT = Path("results/speed/benchmarks.json")
"""What README.md and docs/benchmarks.md say is in this file (docs/claims.toml)."""
GROWTH, GROWTH_TEXTS = Path("results/speed/growth.json"), Path("results/speed/growth-texts.json")
"""What `python -m benchmarks.growth` and `.growth_texts` keep; their tables are printed with the others."""
TRIED = Path("build/benchmarks.json")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["all", "speed", "own", "table"], default="all")
    parser.add_argument("--workloads", nargs="+", choices=list(workloads.SHAPES), default=list(workloads.MAIN))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--k", nargs="+", type=int, default=[10, 200])
    parser.add_argument("--passes", type=int, default=5, help="interleaved passes (default: 5)")
    parser.add_argument("--queries", type=int, default=200, help="queries of a pass (default: 200)")
    parser.add_argument("--processor", type=int, default=0, help="the processor that every engine is pinned to")
    parser.add_argument("--documents", type=int, choices=[10_000, 100_000, 1_000_000], default=1_000_000,
                        help="size of zipfian's own figures")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small workloads: does everything run?")
    parser.add_argument("--lucene-jar", help="a jar with Lucene 10 inside; also $LUCENE_JAR, and $LUCENE_JAVA for java")
    parser.add_argument("--json", type=Path, help=f"where the records go (default: {KEPT}; with --quick {TRIED})")
    parser.add_argument("--table", type=Path, help="where the markdown goes (default: printed)")
    given = parser.parse_args(arguments)
    if given.quick:
        given.workloads, given.documents, given.passes = list(workloads.SMALL), 10_000, 2
    given.json = given.json or (TRIED if given.quick else KEPT)
    if given.lucene_jar:
        os.environ["LUCENE_JAR"] = given.lucene_jar
    records = _measure(given)
    text = render(records)
    if given.what == "table" and GROWTH.exists():
        text += "\n### Growing\n\n" + growth_report.tables(json.loads(GROWTH.read_text())["points"])
    if given.what == "table" and GROWTH_TEXTS.exists():
        text += "\n" + growth_report.texts_table(json.loads(GROWTH_TEXTS.read_text())["points"])
    if given.table:
        given.table.write_text(text)
    else:
        print(text)


def _measure(given: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for; figures of earlier runs in the same file stay."""
    known: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {}
    if given.what in ("all", "speed"):
        from benchmarks import speed

        known["speed"] = speed.run(
            given.workloads, given.engines, given.k, given.passes, given.queries, given.processor
        )
        known["k"] = given.k
        known["ratios"] = report.ratios(known["speed"], given.k)
        known.get("transcribed", {}).pop("speed", None)
        known["machine"] = machine.describe()
    if given.what in ("all", "own"):
        from benchmarks import own

        known["own"] = own.run(given.documents)
        known.get("transcribed", {}).pop("own", None)
        known["machine"] = machine.describe()
    if given.what != "table":
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(known, indent=1))
    return known


def render(records: dict[str, Any]) -> str:
    """Everything measured so far, as markdown."""
    parts = []
    if "machine" in records:
        parts.append(report.heading(records["machine"]))
    if "speed" in records:
        parts.append(report.speed_table(records["speed"], records["k"]))
    if "own" in records:
        parts.append("### zipfian alone\n\n" + report.own_table(records["own"]))
    return "\n".join(parts) or "nothing measured yet\n"


if __name__ == "__main__":
    main()
