"""What a table is made from and what comes out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.plots import Plot, draw
from zipfian.errors import InvalidInput
from zipfian.evaluate.environment import environment
from zipfian.evaluate.results import csv_text, finite, markdown

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Context:
    """The data at hand."""

    table: str
    data: Mapping[str, Path]
    wanted: Sequence[str]
    work: Path | None = None

    def path(self, name: str) -> Path:
        """Where a dataset lies; it must have been given."""
        if name not in self.data:
            raise InvalidInput(
                f"the table {self.table} needs {name}: give --data {name}=PATH (it takes: {', '.join(self.wanted)})"
            )
        return self.data[name]

    def all(self, prefix: str) -> dict[str, Path]:
        """Everything given under a prefix, such as `sae-k16` and `sae-k32` under `sae-`."""
        return {name.removeprefix(prefix): path for name, path in self.data.items() if name.startswith(prefix)}

    def text(self, name: str, default: str) -> str:
        """A setting given in place of a path, such as sizes=10000,100000."""
        return str(self.data[name]) if name in self.data else default

    def others(self, *known: str) -> dict[str, Path]:
        """What was given under other names than these: datasets by their own names."""
        return {name: path for name, path in self.data.items() if name not in known}


@dataclass(frozen=True)
class Brief:
    """What people are shown of a table that is too long or too wide for a page; its files have everything."""

    columns: Sequence[str]
    rows: Sequence[Row]
    what: str
    """Which part this is, in words."""


@dataclass(frozen=True)
class Made:
    """A table or figure: rows of figures, the published ones beside them, plots, and what is missing."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    missing: Sequence[str] = ()
    """What the published table has and this one has not, and why."""
    plots: Mapping[str, Plot] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    brief: Brief | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything, with where and how it was made."""
        out: dict[str, Any] = finite(
            {
                "table": self.name,
                "title": self.title,
                "columns": list(self.columns),
                "rows": [dict(row) for row in self.rows],
                "notes": list(self.notes),
                "missing": list(self.missing),
                "plots": sorted(self.plots),
                "settings": dict(self.settings),
                "environment": environment(),
            }
        )
        if self.brief is not None:
            rows = [dict(row) for row in self.brief.rows]
            out["brief"] = finite({"columns": list(self.brief.columns), "rows": rows, "what": self.brief.what})
        return out

    def markdown(self) -> str:
        """For people."""
        return render(self.to_json())

    def write(self, folder: Path) -> None:
        """NAME.json, NAME.md, NAME.csv, and every plot as PNG and SVG."""
        folder.mkdir(parents=True, exist_ok=True)
        data = self.to_json()
        (folder / f"{self.name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / f"{self.name}.md").write_text(render(data), "utf-8")
        rows = [["" if row.get(c) is None else str(row[c]) for c in self.columns] for row in data["rows"]]
        (folder / f"{self.name}.csv").write_text(csv_text(list(self.columns), rows), "utf-8")
        for name, plot in self.plots.items():
            draw(plot, folder / name)


@dataclass(frozen=True)
class Table:
    """A published table or figure and the function that makes ours."""

    name: str
    summary: str
    data: tuple[str, ...]
    run: Callable[[Context], Made]


def render(data: Mapping[str, Any]) -> str:
    """A made table, from its JSON, as Markdown: the same for a terminal, a file and docs/results.md."""
    shown = data.get("brief") or data
    columns = shown["columns"]
    rows = [[cell(column, row.get(column)) for column in columns] for row in shown["rows"]]
    text = [i for i, column in enumerate(columns) if any(isinstance(row.get(column), str) for row in shown["rows"])]
    parts = [f"## {data['title']}\n", markdown(columns, rows, text)]
    if shown is not data:
        name = data["table"]
        parts.append(f"Shown: {shown['what']}. All {len(data['rows'])} rows are in `{name}.csv` and `{name}.json`.\n")
    if data["notes"]:
        parts.append("".join(f"- {note}\n" for note in data["notes"]))
    if data["missing"]:
        parts.append("Missing here:\n\n" + "".join(f"- {note}\n" for note in data["missing"]))
    return "\n".join(parts)


def cell(column: str, value: Any) -> str:
    """A value with the digits that matter."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or "bytes" in column or "operations" in column or "postings" in column:
        return f"{value:,.0f}"
    if column.endswith(("_ms", "_s")) or "MB" in column or "QPS" in column:
        return f"{value:,.2f}"
    if column.split()[-1] == "p" and 0 <= value < 5e-5:
        return "<.0001"
    return f"{value:.4f}".removeprefix("0") if 0 < abs(value) < 1 else f"{value:.3f}"
