"""Part of `zipfian inspect`: the distribution of document frequencies, as a table and as a plot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zipfian.cli._collection import folder_of, opened, place, trusted
from zipfian.cli._output import note, print_json, table
from zipfian.errors import InvalidInput, check_extra
from zipfian.limits import MAX_TEXT_CHARS

if TYPE_CHECKING:
    from zipfian.evaluate.zipf import Ints, ZipfReport

Distribution = tuple["ZipfReport", "Ints"]


def run_collection(args: argparse.Namespace) -> int:
    """All fields of a collection side by side, or the one that was named."""
    from zipfian.evaluate.zipf_collection import collection_reports, field_report

    if args.plot is not None:
        check_extra("drawing a plot", "eval", "matplotlib")
    queries = None if args.queries is None else read_queries(args.queries)
    path = folder_of(place(args.path), "all frequencies are read from a folder; inspect the one it came from")
    with opened(path, **trusted(args)) as collection:
        if args.field is not None:
            found = [field_report(collection, args.field, queries)]
        else:
            found = collection_reports(collection, queries)
    return show(args, found)


def show(args: argparse.Namespace, found: Sequence[Distribution]) -> int:
    """Print the table (or JSON) and draw the plot that was asked for."""
    from zipfian.evaluate.zipf import zipf_table

    if args.plot is not None:
        from zipfian.evaluate.zipf_plot import plot_zipf

        note(f"plot written to {plot_zipf(found, args.plot)}")
    if args.json:
        print_json({"distributions": [report for report, _ in found]})
        return 0
    headers, rows = zipf_table([report for report, _ in found])
    print(table(headers, rows, right=range(1, len(headers))))
    return 0


def read_queries(path: Path) -> list[str]:
    """The lines of a text file that hold anything."""
    if path.stat().st_size > MAX_TEXT_CHARS:
        raise InvalidInput(f"{path} has {path.stat().st_size:,} bytes: too large for a list of queries")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: {error}") from error
    queries = [line.strip() for line in lines if line.strip()]
    if not queries:
        raise InvalidInput(f"{path} holds no query: write one on each line")
    return queries
