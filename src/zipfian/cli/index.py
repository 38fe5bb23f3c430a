"""`zipfian index SOURCE --into PATH`: put documents into a collection, and follow their changes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from zipfian.cli._arguments import positive
from zipfian.cli._collection import opened_or_created
from zipfian.cli._output import Progress, human_seconds, note, plain, print_json
from zipfian.cli._read import Bad, Document, read
from zipfian.cli._sync import Policy, Sync


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A folder is searched for .txt, .md, .rst, .html and .py files. JSONL and CSV need a field 'text'; "
        "'id' or '_id' is the id, 'title' is searched too, everything else becomes metadata. "
        "Run the same command again to add, update and remove what has changed."
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="a folder, or a .jsonl, .csv, .tsv or text file")
    parser.add_argument("--into", type=Path, required=True, metavar="PATH", help="the collection; made if not there")
    parser.add_argument("--prefix", default="", metavar="TEXT", help="put before every id of this source")
    parser.add_argument("--id-field", metavar="NAME", help="field of JSONL or CSV that holds the id")
    parser.add_argument("--text-field", default="text", metavar="NAME", help="field that holds the text (text)")
    parser.add_argument(
        "--on-bad",
        choices=("fail", "skip"),
        default="fail",
        help="unreadable or non-UTF-8 input: stop (default) or skip",
    )
    parser.add_argument("--take-over", action="store_true", help="replace documents of the same id from other sources")
    parser.add_argument("--keep-missing", action="store_true", help="keep documents that the source no longer has")
    parser.add_argument(
        "--commit-every", type=positive, default=10_000, metavar="N", help="commit after N changed documents (10000)"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    start = time.perf_counter()
    policy = Policy(
        source=str(args.source.resolve()),
        prefix=args.prefix,
        skip_bad=args.on_bad == "skip",
        take_over=args.take_over,
        remove=not args.keep_missing,
        commit_every=args.commit_every,
    )
    found = read(args.source, id_field=args.id_field, text_field=args.text_field)
    with opened_or_created(args.into) as collection, Progress("indexing") as progress:
        summary = Sync(collection, policy).run(_watched(found, progress))
        total = len(collection)
    seconds = time.perf_counter() - start
    if args.json:
        print_json(
            {"source": policy.source, "into": str(args.into), **plain(summary), "total": total, "seconds": seconds}
        )
    else:
        print(f"{args.into}: {summary}; {total:,} documents in all ({human_seconds(seconds)})")
    return 0


def _watched(found: Iterable[Document | Bad], progress: Progress) -> Iterator[Document | Bad]:
    """Counts what passes, and names what is bad as soon as it is met."""
    for item in found:
        if isinstance(item, Bad):
            progress.clear()
            note(f"{item.where}: {item.problem}")
        yield item
        progress.step()
