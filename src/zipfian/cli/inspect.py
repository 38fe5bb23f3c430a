"""`zipfian inspect PATH`: what a collection holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zipfian.cli._collection import opened
from zipfian.cli._output import BOLD, human_bytes, paint, plain, print_json, printable, table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="PATH", help="the collection")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    with opened(args.path) as collection:
        stats = plain(collection.stats())
    if args.json:
        print_json(stats)
    else:
        print("\n".join(outline(stats)))
    return 0


def outline(stats: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Nested values as indented lines; a list of objects with the same keys as a table."""
    indent = "  " * depth
    label = max((len(k) for k, v in stats.items() if not isinstance(v, dict)), default=0)
    for key, value in stats.items():
        if isinstance(value, dict) and value:
            yield indent + paint(printable(key), BOLD)
            yield from outline(value, depth + 1)
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield indent + paint(printable(key), BOLD)
            columns = list(value[0])
            rows = [[_cell(c, row.get(c, "")) for c in columns] for row in value]
            numeric = [i for i, c in enumerate(columns) if isinstance(value[0][c], int | float)]
            yield from (f"{indent}  {line}" for line in table(columns, rows, right=numeric).splitlines())
        else:
            yield f"{indent}{printable(key):<{label}}  {_cell(key, value)}"


def _cell(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and "bytes" in key:
        return human_bytes(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list):
        return ", ".join(_cell("", v) for v in value) or "-"
    return "-" if value is None or value == {} else printable(str(value))
