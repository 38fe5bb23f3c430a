"""`zipfian delete PATH ID...`: remove documents."""

from __future__ import annotations

import argparse

from zipfian.cli._collection import WHERE, opened, place
from zipfian.cli._output import print_json
from zipfian.errors import InvalidInput


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("ids", nargs="+", metavar="ID", help="documents to remove, all or none of them")
    parser.add_argument("--ignore-missing", action="store_true", help="no error for ids that are not there")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    ids = list(dict.fromkeys(args.ids))
    with opened(args.path, "w") as collection:
        missing = [doc_id for doc_id in ids if collection.get(doc_id) is None]
        if missing and not args.ignore_missing:
            some = ", ".join(map(repr, missing[:5])) + (" ..." if len(missing) > 5 else "")
            raise InvalidInput(
                f"{len(missing)} of {len(ids)} ids are not in the collection: {some}; nothing was removed"
            )
        present = [doc_id for doc_id in ids if doc_id not in set(missing)]
        if present:
            collection.delete(present)
            collection.commit()
        total = len(collection)
    if args.json:
        print_json({"removed": present, "missing": missing, "total": total})
    else:
        print(f"{args.path}: {len(present):,} removed, {total:,} documents left")
    return 0
