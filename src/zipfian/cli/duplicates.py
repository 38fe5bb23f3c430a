"""`zipfian duplicates PATH`: documents that are there more than once, exactly or nearly."""

from __future__ import annotations

import argparse

from zipfian.cli._collection import WHERE, folder_of, opened, place
from zipfian.cli._output import plain, print_json, printable


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Changes nothing. First groups of one content (the same picture file, the same text), then groups whose "
        "vectors are nearly the same; 'zipfian delete PATH ID' removes a document."
    )
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help="cosine from which two documents are nearly the same (0.9; gte-small: 0.97)",
    )
    parser.add_argument("--field", metavar="NAME", help="whose vectors are compared (the first that has some)")
    parser.add_argument("--json", action="store_true", help="print the groups as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    folder_of(args.path, "duplicates are found in a folder: do it in the one that this was copied from")
    given = {} if args.threshold is None else {"threshold": args.threshold}
    with opened(args.path) as collection:
        groups = collection.duplicates(field=args.field, **given)
        total = len(collection)
    if args.json:
        print_json({"groups": plain(groups), "documents": total})
        return 0
    for group in groups:
        print("the same:" if group.exact else f"nearly the same (cosine from {group.similarity:.3f}):")
        for doc_id in group.ids:
            print(printable(f"  {doc_id}"))
    exact = sum(group.exact for group in groups)
    print(f"{args.path}: {exact:,} groups of the same, {len(groups) - exact:,} of nearly the same; {total:,} documents")
    return 0
