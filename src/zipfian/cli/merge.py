"""`zipfian merge PATH`: fewer, larger segments, without what was deleted."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from zipfian.cli._collection import WHERE, Place, opened, place
from zipfian.cli._output import human_bytes, human_seconds, print_json

if TYPE_CHECKING:
    from zipfian.collection import Collection


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Scores and their order stay exactly the same. The files of the commit before are kept until the next one, "
        "so the folder may shrink only then."
    )
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    start = time.perf_counter()
    with opened(args.path, "w") as collection:
        before = size_of(args.path, collection)
        collection.merge()
        collection.commit()
        after = size_of(args.path, collection)
        total = len(collection)
    seconds = time.perf_counter() - start
    if args.json:
        print_json({"total": total, "bytes_before": before, "bytes_after": after, "seconds": seconds})
    else:
        sizes = f"{human_bytes(before)} before, {human_bytes(after)} now"
        print(f"{args.path}: merged {total:,} documents; {sizes} ({human_seconds(seconds)})")
    return 0


def size_of(where: Place, collection: Collection) -> int:
    """Bytes of a collection: of all files in its folder, or what the cluster says of its index."""
    return folder_bytes(where) if isinstance(where, Path) else int(collection.stats()["bytes"])


def folder_bytes(path: Path) -> int:
    """Bytes of all files in a collection's folder, older commits among them."""
    return sum(entry.stat().st_size for entry in path.iterdir() if entry.is_file())
