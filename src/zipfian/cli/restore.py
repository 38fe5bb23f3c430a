"""`zipfian restore PATH GENERATION`: make an older commit the newest again, when the newest is damaged."""

from __future__ import annotations

import argparse

from zipfian.cli._arguments import positive
from zipfian.cli._collection import WHERE, folder_of, place
from zipfian.cli._output import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "'zipfian check PATH' says what is damaged; the error on opening names a generation that is sound."
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("generation", type=positive, metavar="GENERATION", help="the commit to go back to")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.index.restore import restore
    from zipfian.storage.directory import FSDirectory

    path = folder_of(args.path, "it keeps no older commits; its snapshots are restored with the cluster's own tools")
    aside = restore(FSDirectory(path), args.generation)
    if args.json:
        print_json({"generation": args.generation, "set_aside": aside})
    elif aside:
        print(f"{args.path}: generation {args.generation} is the newest again; set aside: {', '.join(aside)}")
    else:
        print(f"{args.path}: generation {args.generation} was the newest already; nothing changed")
    return 0
