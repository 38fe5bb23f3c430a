"""What became of the mutants, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path

from tests.mutants.mutation import Mutation, mutations
from tests.mutants.tree import Result

PAGE = """# Mutants

Mistakes made on purpose in a copy of the sources, one at a time, and the test that noticed each. `make mutants` makes
them again, `make mutants ARGS="--only fuse"` some of them, and with `--write` this page and
`results/mutants/mutants.json` are made from what was found.
The list is in `tests/mutants/list`; `tests/mutants/test_mutants.py` fails when the code has moved away from under it.

"""


def table(listed: Sequence[Mutation], results: Sequence[Result]) -> str:
    """Counts by stage, then a line for each mutation."""
    by_stage: dict[str, Counter[str]] = {}
    for mutation, result in zip(listed, results, strict=True):
        by_stage.setdefault(mutation.stage, Counter())[result.result] += 1
    kinds = sorted({r.result for r in results})
    lines = [f"| stage | mutants | {' | '.join(kinds)} |", "|---" * (2 + len(kinds)) + "|"]
    total: Counter[str] = Counter(r.result for r in results)
    for stage, counts in [*by_stage.items(), ("**all**", total)]:
        lines.append(f"| {stage} | {counts.total()} | {' | '.join(str(counts[kind]) for kind in kinds)} |")
    lines += ["", "| mutant | what would go wrong | result | by |", "|---|---|---|---|"]
    for mutation, result in zip(listed, results, strict=True):
        by = f"`{result.by.removeprefix('tests/')}`" if result.result == "caught" else result.by.partition("\n")[0]
        lines.append(f"| {mutation.name} | {mutation.why} | {result.result} | {by} |")
    return "\n".join(lines) + "\n"


def write(checkout: Path, results: Sequence[Result]) -> None:
    """Put results into `results/mutants/mutants.json` beside those of earlier runs, and all of them on the page.

    An earlier result counts as long as its mutation is listed as it was then.
    """
    listed = mutations()
    out = checkout / "results" / "mutants" / "mutants.json"
    known = {row["name"]: row for row in json.loads(out.read_text())["results"]} if out.exists() else {}
    by_name = {m.name: m for m in listed}
    today = date.today().isoformat()
    known |= {r.name: {**asdict(r), "date": today, **_what(by_name[r.name])} for r in results}
    rows = [known[m.name] for m in listed if m.name in known and _what(m).items() <= known[m.name].items()]
    counts = Counter(row["result"] for row in rows)
    found = {"listed": len(listed), "run": len(rows), "counts": dict(sorted(counts.items())), "results": rows}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    shown = [Result(row["name"], row["result"], row["by"], row["seconds"]) for row in rows]
    (checkout / "docs" / "mutants.md").write_text(PAGE + table([by_name[r.name] for r in shown], shown))


def _what(mutation: Mutation) -> dict[str, str]:
    return {"file": mutation.file, "old": mutation.old, "new": mutation.new, "why": mutation.why}
