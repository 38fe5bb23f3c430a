"""Run the attacks and print what became of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from tests.hostile.case import GOOD, MEMORY, SECONDS, Outcome
from tests.hostile.families import FAMILIES, family
from tests.hostile.watch import Watched


def main() -> int:
    """Exit code 1 when anything was not as promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help=f"of {', '.join(FAMILIES)}; default all")
    parser.add_argument("--cases", type=int, default=400, help="cases of each family (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--src", type=Path, help="attack the package in this folder in place of this checkout's")
    parser.add_argument("--out", type=Path, help="write every outcome as JSON")
    parser.add_argument("--verbose", action="store_true", help="print every outcome that is not as promised")
    args = parser.parse_args()
    outcomes: list[Outcome] = []
    for name in args.families:
        for outcome in Watched(args.src).run(family(name).cases(args.cases, args.seed)):
            outcomes.append(outcome)
            if args.verbose and outcome.result not in (*GOOD, "not here"):
                print(f"{outcome.result}: {outcome.case} {outcome.detail}", file=sys.stderr, flush=True)
    print(table(outcomes))
    if args.out:
        rows = [{**o._asdict(), "case": o.case.__dict__} for o in outcomes]
        args.out.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(o.result not in (*GOOD, "not here") for o in outcomes))


def table(outcomes: list[Outcome]) -> str:
    """A line for each attack: cases, what came of them, the most memory and time."""
    grouped: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        grouped[outcome.case.family, outcome.case.attack].append(outcome)
    lines = ["| attack | cases | result | most MB | most s |", "|---|---|---|---|---|"]
    for (name, attack), found in grouped.items():
        counts = Counter(o.result for o in found)
        result = ", ".join(f"{counts[r]} {r}" for r in sorted(counts))
        most, slowest = max(o.megabytes for o in found), max(o.seconds for o in found)
        lines.append(f"| {name}: {attack} | {len(found)} | {result} | {most:.0f} | {slowest:.1f} |")
    bad = sum(o.result not in (*GOOD, "not here") for o in outcomes)
    lines.append(f"\n{len(outcomes)} cases, {bad} not as promised ({MEMORY >> 20} MiB, {SECONDS:.0f} s each)")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
