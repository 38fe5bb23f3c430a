"""What became of the mutants, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutants.mutation import Mutation
from tests.mutants.tree import Result

PAGE = """# Mutants

Mistakes made on purpose in a copy of the sources, one at a time, and the test that noticed each. `make mutants` makes
them all again and writes this page and `results/mutants/mutants.json`; `make mutants ARGS="--only fuse"` tries some.
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


def write(checkout: Path, listed: Sequence[Mutation], results: Sequence[Result]) -> None:
    """`results/mutants/mutants.json` and `docs/mutants.md`."""
    rows = [
        {**asdict(result), "file": mutation.file, "old": mutation.old, "new": mutation.new, "why": mutation.why}
        for mutation, result in zip(listed, results, strict=True)
    ]
    found = {"mutants": len(rows), "counts": dict(sorted(Counter(r.result for r in results).items())), "results": rows}
    out = checkout / "results" / "mutants" / "mutants.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    (checkout / "docs" / "mutants.md").write_text(PAGE + table(listed, results))
