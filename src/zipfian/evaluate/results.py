"""A comparison of methods on one dataset: the figures, who is better by more than chance, and the files of it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.evaluate.environment import environment
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.evaluate.trec import token, write_run


@dataclass(frozen=True)
class Report:
    """What `zipfian eval` found."""

    dataset: str
    kind: str
    n_docs: int
    n_queries: int
    results: Mapping[str, MethodResult]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    baseline: str | None = None
    """The method that others are compared with; the first one unless given."""

    def __post_init__(self) -> None:
        if not self.results:
            raise InvalidInput("a report needs at least one method")
        if self.baseline is not None and self.baseline not in self.results:
            raise InvalidInput(f"the baseline {self.baseline!r} is not among: {', '.join(self.results)}")

    @property
    def reference(self) -> str:
        """The method that others are compared with."""
        return self.baseline or next(iter(self.results))

    @property
    def methods(self) -> dict[str, dict[str, float]]:
        """Method -> measure -> value."""
        return {name: dict(result.values) for name, result in self.results.items()}

    def comparisons(self) -> dict[str, dict[str, dict[str, float]]]:
        """Method -> measure -> test against the reference: paired t-test per query, corrected over the methods."""
        base = self.results[self.reference]
        others = [name for name in self.results if name != self.reference]
        out: dict[str, dict[str, dict[str, float]]] = {name: {} for name in others}
        for measure in base.per_query:
            there = [name for name in others if measure in self.results[name].per_query]
            tests = [paired(base.per_query[measure], self.results[name].per_query[measure]) for name in there]
            corrected = holm([test.p for test in tests])
            for name, test, p in zip(there, tests, corrected, strict=True):
                out[name][measure] = {
                    "difference": test.difference,
                    "p": test.p,
                    "p_holm": p,
                    "cohens_d": test.cohens_d,
                }
        return out

    def marks(self) -> dict[str, dict[str, str]]:
        """Method -> measure -> '+', '++', '-', '--' where it differs from the reference (p_holm <= 0.05, 0.01)."""
        out: dict[str, dict[str, str]] = {}
        for name, measures in self.comparisons().items():
            out[name] = {}
            for measure, test in measures.items():
                row = Comparison(0, 0.0, 0.0, test["difference"], test["p_holm"], test["cohens_d"], "t")
                out[name][measure] = row.mark()
        return out

    def to_json(self) -> dict[str, Any]:
        """Everything but the rankings."""
        out: dict[str, Any] = finite(
            {
                "dataset": self.dataset,
                "kind": self.kind,
                "documents": self.n_docs,
                "queries": self.n_queries,
                "methods": self.methods,
                "reference": self.reference,
                "comparisons": self.comparisons(),
                "settings": dict(self.settings),
                "notes": list(self.notes),
                "environment": environment(),
            }
        )
        return out

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """A table for people: header and rows, marks beside the figures."""
        columns = list(dict.fromkeys(key for result in self.results.values() for key in result.values))
        marks = self.marks()
        body = []
        for name, result in self.results.items():
            row = [name]
            for key in columns:
                value = result.values.get(key)
                mark = marks.get(name, {}).get(key, "")
                row.append("" if value is None else shown(key, value) + mark)
            body.append(row)
        return ["method", *columns], body

    def write(self, folder: Path) -> list[Path]:
        """report.json, report.csv, report.md, per_query.csv and one TREC run per method."""
        folder.mkdir(parents=True, exist_ok=True)
        header, body = self.rows()
        legend = f"{MARKS_LEGEND.format(reference=self.reference)}\n"
        notes = "".join(f"\n- {note}" for note in self.notes)
        title = f"# {self.dataset}\n\n{self.n_docs:,} documents, {self.n_queries:,} queries.\n\n"
        raw = [[name, *(self._raw(name, key) for key in header[1:])] for name in self.results]
        files = {
            "report.json": json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n",
            "report.csv": csv_text(header, raw),
            "report.md": title + markdown(header, body) + "\n" + legend + notes + ("\n" if notes else ""),
            "per_query.csv": csv_text(["method", "measure", "query", "value"], self._per_query()),
        }
        written = []
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            written.append(folder / name)
        for name, result in self.results.items():
            path = folder / f"{token(name)}.run"
            write_run(path, result.run, name)
            written.append(path)
        return written

    def _raw(self, method: str, key: str) -> str:
        value = self.results[method].values.get(key)
        return "" if value is None else repr(value)

    def _per_query(self) -> list[list[str]]:
        return [
            [name, measure, query, repr(value)]
            for name, result in self.results.items()
            for measure, values in result.per_query.items()
            for query, value in values.items()
        ]


MARKS_LEGEND = (
    "+ / - better or worse than {reference} (paired t-test over queries, Holm-corrected, p <= 0.05; ++ / -- p <= 0.01)"
)


def shown(key: str, value: float) -> str:
    """A figure with the digits that matter."""
    if key.endswith("_bytes"):
        return f"{value:,.0f}"
    if key.endswith("_ms"):
        return f"{value:.2f}"
    if key == "postings":
        return f"{value:,.0f}"
    return f"{value:.4f}" if math.isfinite(value) else "-"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[int] = (0,)) -> str:
    """A Markdown table; the columns in `text` are words, the others are numbers."""
    line = "| " + " | ".join("---" if i in text else "---:" for i in range(len(header))) + " |"
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join([body[0], line, *body[1:]]) + "\n"


def csv_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def finite(value: Any) -> Any:
    """JSON has no NaN or infinity: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value
