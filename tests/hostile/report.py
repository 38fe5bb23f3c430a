"""The table of docs/security.md: every attack, how many cases, and what became of them before and after.

python -m tests.hostile --src OLD/src --out before.json; python -m tests.hostile --out after.json
python -m tests.hostile.report before.json after.json --into docs/security.md --keep results/hostile/report.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.hostile.case import GOOD

START, END = "<!-- attacks: made by tests/hostile/report.py -->", "<!-- end of attacks -->"

WORDS = {
    "answered": "answered",
    "refused": "refused",
    "raw": "raw error",
    "wrong": "wrong",
    "hang": "hang",
    "memory": "memory",
    "crash": "crash",
    "not here": "no such feature",
}


def summary(outcomes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By attack: cases, results, the most memory and time of any case."""
    found: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        name = f"{outcome['case']['family']}: {outcome['case']['attack']}"
        row = found.setdefault(name, {"cases": 0, "results": Counter(), "megabytes": 0.0, "seconds": 0.0})
        row["cases"] += 1
        row["results"][outcome["result"]] += 1
        for key in ("megabytes", "seconds"):
            row[key] = max(row[key], outcome[key])
    return {
        name: {**row, "results": dict(row["results"]), "megabytes": round(row["megabytes"]),
               "seconds": round(row["seconds"], 1)} for name, row in found.items()
    }  # fmt: skip


def table(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown; what was not as promised in bold."""
    lines = ["| attack | before | after | most MB, s after |", "|---|---|---|---|"]
    for name in sorted(after):
        old = _told(before[name]["results"]) if name in before else "not run"
        row = after[name]
        lines.append(f"| {name} | {old} | {_told(row['results'])} | {row['megabytes']}, {row['seconds']:.1f} |")
    return "\n".join(lines)


def bad(rows: Mapping[str, Mapping[str, Any]]) -> int:
    """Cases that were not as promised."""
    return sum(n for row in rows.values() for result, n in row["results"].items() if result not in (*GOOD, "not here"))


def _told(results: Mapping[str, int]) -> str:
    parts = []
    for result in sorted(results, key=list(WORDS).index):
        told = f"{results[result]} {WORDS[result]}"
        parts.append(told if result in (*GOOD, "not here") else f"**{told}**")
    return ", ".join(parts)


def main() -> int:
    """Write the table into a page, and the numbers behind it into a file."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.report", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--versions", nargs=2, default=("before", "after"), help="what was attacked")
    args = parser.parse_args()
    before, after = (summary(json.loads(path.read_text())) for path in (args.before, args.after))
    counts = {"before": [sum(r["cases"] for r in before.values()), bad(before)]}
    counts["after"] = [sum(r["cases"] for r in after.values()), bad(after)]
    kept = {"versions": args.versions, "cases and not as promised": counts, "before": before, "after": after}
    args.keep.write_text(json.dumps(kept, indent=1) + "\n")
    head, _, rest = args.into.read_text().partition(START)
    told = (
        f"Before: {counts['before'][0]:,} cases, {counts['before'][1]:,} not as promised. "
        f"After: {counts['after'][0]:,} cases, {counts['after'][1]:,} not as promised."
    )
    body = f"{START}\n\n{told}\n\n{table(before, after)}\n\n{END}"
    args.into.write_text(head + body + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
