"""`zipfian check PATH`: read everything, compare every checksum and count, and say what is wrong.

Works on the files themselves, so that a collection too damaged to be opened still gets a full report.
"""

from __future__ import annotations

import argparse
import time

from zipfian.cli._collection import WHERE, folder_of, place
from zipfian.cli._output import Progress, human_bytes, human_seconds, plain, print_json, printable


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "Changes nothing. The exit code is 1 when something is damaged."
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.collection.settings import Settings
    from zipfian.collection.transforms import problems
    from zipfian.index.check import check
    from zipfian.index.snapshot import Snapshot
    from zipfian.storage.directory import FSDirectory

    path = folder_of(args.path, f"its nodes check their own files; 'zipfian inspect {args.path}' says how it is")
    start, directory = time.perf_counter(), FSDirectory(path)
    with Progress("checking, file") as progress:
        report = check(directory, lambda name, size: progress.step())
    if report.ok:
        with Snapshot.open(directory) as snapshot:
            report.problems += problems(directory, Settings.from_json(snapshot.settings, str(args.path)).fields)
    seconds = time.perf_counter() - start
    if args.json:
        print_json({"ok": report.ok, **plain(report)})
        return 0 if report.ok else 1
    for file, problem in report.problems:
        print(printable(f"{file}: {problem}"))
    for file in report.orphans:
        print(printable(f"{file}: not part of any commit (left by an interrupted writer; the next writer removes it)"))
    verdict = "no damage" if report.ok else f"{len(report.problems)} problem{'s' * (len(report.problems) != 1)}"
    print(f"{args.path}: {verdict} in {report.files:,} files, {human_bytes(report.bytes)} ({human_seconds(seconds)})")
    return 0 if report.ok else 1
