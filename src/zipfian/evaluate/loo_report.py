"""FAIR-LOO summaries as JSON, a table and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zipfian.evaluate.environment import environment
from zipfian.evaluate.protocols.fair_loo import LooSummary
from zipfian.evaluate.results import csv_text, markdown


def as_json(name: str, summaries: Mapping[str, LooSummary], runs: int, seed: int) -> dict[str, Any]:
    """`methods` as everywhere (means over the runs), then deviations, tests and how it was made."""
    first = next(iter(summaries.values()))
    methods = {
        method: {
            **{f"t2i_{key}": summary.mean(method) for key, summary in summaries.items()},
            **{f"t2i_{key}_deviation": summary.deviation(method) for key, summary in summaries.items()},
        }
        for method in first.values
    }
    return {
        "dataset": name,
        "kind": "caption",
        "protocol": "fair-loo",
        "methods": methods,
        "reference": first.reference,
        "runs": {key: summary.to_json() for key, summary in summaries.items()},
        "settings": {"runs": runs, "seed": seed},
        "environment": environment(),
    }


def rows(summaries: Mapping[str, LooSummary]) -> tuple[list[str], list[list[str]]]:
    """A table for people: mean and deviation of each measure, p (Holm) over the runs and d against the reference."""
    header = ["method"]
    for key in summaries:
        header += [key, "p", "d"]
    body = []
    tests = {key: summary.against(summary.reference) for key, summary in summaries.items()}
    for method in next(iter(summaries.values())).values:
        row = [method]
        for key, summary in summaries.items():
            test = tests[key].get(method)
            row.append(f"{summary.mean(method):.4f} ± {summary.deviation(method):.4f}")
            row += ["", ""] if test is None else [f"{test.p_runs:.4f}", f"{test.runs.cohens_d:.2f}"]
        body.append(row)
    return header, body


def write(folder: Path, name: str, summaries: Mapping[str, LooSummary], runs: int, seed: int) -> None:
    """report.json, report.csv and report.md."""
    folder.mkdir(parents=True, exist_ok=True)
    header, body = rows(summaries)
    text = json.dumps(as_json(name, summaries, runs, seed), indent=2, ensure_ascii=False) + "\n"
    (folder / "report.json").write_text(text, encoding="utf-8")
    (folder / "report.csv").write_text(csv_text(header, body), encoding="utf-8")
    title = f"# {name}: FAIR-LOO, {runs} runs, seed {seed}\n\n"
    (folder / "report.md").write_text(title + markdown(header, body), encoding="utf-8")
