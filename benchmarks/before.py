"""python -m benchmarks.before OLD: the engine of another checkout and of this one, in turns, on one machine.

OLD is a folder with the `src` and `benchmarks` of another commit (`git worktree add OLD COMMIT`). Both measure
themselves with their own benchmarks, in processes of their own, the order changing from pass to pass. The table has the
best and the median of each figure and the ratio of the best: what else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path("results/speed/before.json")
MORE_IS_BETTER = ("batch search", "write a collection")
_NUMBER = re.compile(r"[\d,]*\.?\d+")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("old", type=Path, help="a folder with the sources and benchmarks of another commit")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--workloads", nargs="+", default=["visual-100k", "latent-5k", "lexical-20k"])
    parser.add_argument("--documents", default="100000", help="size of zipfian's own figures")
    parser.add_argument("--json", type=Path, default=KEPT)
    given = parser.parse_args(arguments)
    sides = {"old": given.old.resolve(), "new": ROOT}
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(given.passes):
        for side in list(sides)[:: 1 if number % 2 == 0 else -1]:
            for name, value in figures(measured(sides[side], given.workloads, given.documents)):
                found.setdefault(name, {}).setdefault(side, []).append(value)
    record = {"machine": machine.describe(), "commit": commit(given.old), "figures": found}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(found)))


def measured(checkout: Path, workloads: Sequence[str], documents: str) -> dict[str, Any]:
    """What the benchmarks of a checkout say of it."""
    with tempfile.TemporaryDirectory(prefix="zipfian-before-") as folder:
        file = Path(folder) / "benchmarks.json"
        env = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
        speed = ["speed", "--engines", "zipfian", "--workloads", *workloads, "--passes", "3"]
        for what in (speed, ["own", "--documents", documents]):
            command = [sys.executable, "-m", "benchmarks", *what, "--json", str(file)]
            subprocess.run(command, cwd=checkout, env=env, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found


def figures(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every figure by name."""
    for workload in record["speed"]:
        for values in workload["engines"].values():
            for k in ("k10", "k200"):
                for part in ("p50", "p95"):
                    yield f"{workload['workload']}, {k.replace('k', 'k=')}, {part} ms", values[k][part]
            yield f"{workload['workload']}, build s", values["build_s"]
    for name, value, about in record["own"]:
        if number := _NUMBER.search(value):
            yield f"{name} ({about})" if name.startswith("`Collection") else name, float(number[0].replace(",", ""))


def table(found: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[str]:
    """Markdown: least and median of both, and the ratio of the least; where more is better, of the most."""
    yield "| figure | old, best / median | new, best / median | new / old, best |"
    yield "|---|---:|---:|---:|"
    for name, sides in found.items():
        if {"old", "new"} <= set(sides):
            pick = max if name.startswith(MORE_IS_BETTER) else min
            old, new = (pick(sides[side]) for side in ("old", "new"))
            cells = (f"{pick(sides[s]):.3g} / {statistics.median(sides[s]):.3g}" for s in ("old", "new"))
            yield f"| {name} | {' | '.join(cells)} | {new / old:.2f} |"


def commit(checkout: Path) -> str:
    """The commit of a checkout, or nothing where it has none."""
    found = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip()


if __name__ == "__main__":
    main()
