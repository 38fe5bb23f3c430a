"""`zipfian list PATH`: the documents of a collection, or those that a filter allows, in their order."""

from __future__ import annotations

import argparse

from zipfian.cli._arguments import positive
from zipfian.cli._collection import WHERE, opened, place
from zipfian.cli._output import note, plain, print_json, printable, table, width
from zipfian.cli._where import add_where, filter_of

LIMIT = 20
SHOWN_COLUMNS = 3
CELL = 24
"""Metadata that fit on a line: so many columns, of so many characters."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    add_where(parser)
    parser.add_argument("--limit", type=positive, default=LIMIT, metavar="N", help=f"documents to list ({LIMIT})")
    parser.add_argument("--offset", type=_from_zero, default=0, metavar="N", help="documents to pass over (0)")
    parser.add_argument("--json", action="store_true", help="print ids, texts and metadata as JSON")


def _from_zero(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"a whole number from 0 was expected, not {text!r}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    with opened(args.path) as collection:
        where = filter_of(args.where, collection.columns, args.path)
        total = collection.count(where)
        found = list(collection.documents(where, limit=args.limit, offset=args.offset))
        of_type = collection.columns
    if args.json:
        documents = [{"id": one.id, "text": one.text, "metadata": one.metadata} for one in found]
        print_json({"total": total, "offset": args.offset, "documents": documents})
        return 0
    names = [name for name in of_type if not name.startswith("_") and name not in ("path", "image")]
    columns = [name for name in names if any(name in one.metadata for one in found)][:SHOWN_COLUMNS]
    rows = [
        [_cell(one.id, 2 * CELL), *(_cell(plain(one.metadata.get(name))) for name in columns), _cell(one.text, width())]
        for one in found
    ]
    if rows:
        print("\n".join(line[: width()] for line in table(["id", *columns, "text"], rows).splitlines()))
    first, last = args.offset + 1, args.offset + len(found)
    more = f"; the next: --offset {last}" if last < total else ""
    note(f"{first:,} to {last:,} of {total:,}{more}" if found else f"none of {total:,}" if total else "no document")
    return 0


def _cell(value: object, at_most: int = CELL) -> str:
    text = printable(" ".join(str("" if value is None else value)[: 4 * at_most].split()))
    return text if len(text) <= at_most else text[: at_most - 3] + "..."
