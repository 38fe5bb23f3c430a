"""`zipfian explain PATH QUERY ID`: a score as the sum of its parts."""

from __future__ import annotations

import argparse
from pathlib import Path

from zipfian.cli._collection import opened
from zipfian.cli._output import print_json
from zipfian.cli._tree import tree_lines


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="PATH", help="the collection")
    parser.add_argument("query", metavar="QUERY", help="the query that the score is for")
    parser.add_argument("id", metavar="ID", help="the document")
    parser.add_argument("--above", metavar="ID2", help="show instead which terms put ID above (or below) this document")
    parser.add_argument("--json", action="store_true", help="print the tree as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    with opened(args.path) as collection:
        text = None
        if args.above is None:
            tree = collection.explain(args.query, args.id)
            document = collection.get(args.id)
            text = document.text if document is not None else None
        else:
            tree = collection.why(args.query, args.id, args.above)
    if args.json:
        print_json(tree)
    else:
        print("\n".join(tree_lines(tree, text)))
    return 0
