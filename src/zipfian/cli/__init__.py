"""The `zipfian` command: one small file per subcommand, imported only when it is the one called.

So `zipfian --help` is fast and needs no numba. A command module has two functions:
`configure(parser)` declares its arguments, `run(args)` does the work and returns the exit code.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence

from zipfian._version import __version__
from zipfian.cli._parser import Parser
from zipfian.cli._terminal import STANDARD_OUTPUT, guarded
from zipfian.errors import ZipfianError

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

COMMANDS: dict[str, str] = {
    "demo": "search texts by meaning and pictures by example, and see why",
    "index": "put a folder of texts or pictures, JSONL, CSV or Parquet into a collection; again to follow changes",
    "encode": "encode a share of a source for 'index --encoded', on any number of machines at once",
    "search": "search a collection by words, by meaning or with a picture",
    "explain": "show how a document's score for a query comes about",
    "list": "list documents, all or those that a filter allows, without a query",
    "inspect": "show what a collection or vocabulary holds, and what a term means",
    "duplicates": "list documents that are there more than once, exactly or nearly",
    "serve": "answer searches over HTTP, with a page to search and see why in a browser",
    "check": "read every byte of a collection and report damage",
    "delete": "remove documents by id",
    "merge": "join segments and drop what was deleted",
    "cache": "show how much of what was encoded is kept, limit it or clear it",
    "weights": "fetch, list and find the encoders' weights",
    "eval": "measure methods on data with known answers, with significance",
    "tune": "choose scoring or weights on a dataset, k-fold",
    "train": "train a vocabulary of your own on the token vectors of an encoder",
    "export": "write a collection as surrogate text, or as mapping and bulk files for OpenSearch",
    "verify": "run the same queries on a folder and on a cluster, and compare",
    "restore": "go back to an older commit when the newest is damaged",
}
"""Name and one-line help of each subcommand; the module of the same name does the work."""


WRITTEN = ("into", "out", "path")
"""Arguments that name what a command writes, in the order in which they are looked at when a disk is full."""


def build_parser(wanted: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The whole parser; only commands named in `wanted` have their modules imported and arguments declared."""
    parser = Parser(
        prog="zipfian",
        description="Search that shows why: BM25 over words and latent terms, in one folder, without a server.",
        epilog="exit codes: 0 done, 1 an error (one line says which), 2 wrong usage, 3 done but some input was skipped "
        "(index, encode), 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"zipfian {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in wanted:
            module = importlib.import_module(f"zipfian.cli.{name}")
            module.configure(sub)
            sub.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to stop
    with guarded():
        return _main(sys.argv[1:] if argv is None else argv)  # no list(...): the command of that name is in this module


def _main(arguments: Sequence[str]) -> int:
    try:
        args = build_parser(arguments).parse_args(arguments)
    except SystemExit as stop:  # argparse has printed help, the version or a usage message
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _complain("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader (`| head`) went away
        _silence()
        return EXIT_ERROR
    except ZipfianError as error:
        _complain(str(error))
    except OSError as error:
        if error.filename == STANDARD_OUTPUT:
            _silence()
        _complain(_described(error, args))
    return EXIT_ERROR


def _described(error: OSError, args: argparse.Namespace) -> str:
    """The system's words with the path they are about; for a full disk also what to do."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    where = error.filename
    if where is None and full:
        where = next((found for name in WRITTEN if (found := getattr(args, name, None)) is not None), None)
    said = f"{error.strerror or error}" if where is None else f"{os.fsdecode(where)}: {error.strerror or error}"
    advice = "free some space there and run the same command again; what was committed before is safe"
    return f"{said}: {advice}" if full else said


def _silence() -> None:
    """Point standard output elsewhere, or Python complains again while exiting."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    print("zipfian: " + " ".join(message.split()), file=sys.stderr)
