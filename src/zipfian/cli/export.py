"""`zipfian export`: a collection for engines that somebody else runs.

`export surrogate` writes text that any full-text engine can index; `export opensearch` writes mapping, bulk requests
and query templates.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from zipfian.cli._arguments import positive
from zipfian.cli._collection import WHERE, folder_of, place
from zipfian.cli._output import Progress, note, print_json, printable
from zipfian.cli._terminal import escaped

EXAMPLES = """examples:
  zipfian export surrogate notes.zf --field words --out notes.txt
  zipfian export surrogate photos.zf --field visual --scale 4 | gzip > photos.txt.gz
  zipfian export opensearch notes.zf --out notes-opensearch --name notes --shards 3
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    surrogate = kinds.add_parser("surrogate", help="one document per line: its id, a tab, codewords repeated tf times")
    surrogate.add_argument("path", type=place, metavar="PATH", help=WHERE)
    surrogate.add_argument("--field", metavar="NAME", help="which field; needed where there are several")
    surrogate.add_argument("--out", type=Path, metavar="FILE", help="write to this file instead of standard output")
    surrogate.add_argument("--scale", type=float, metavar="S", help="repetitions of a weight of 1")
    surrogate.add_argument("--prefix", default="t", metavar="P", help="what stands before a term's number (default: t)")
    surrogate.add_argument("--no-ids", action="store_true", help="codewords only")
    opensearch = kinds.add_parser("opensearch", help="mapping, bulk requests and query templates to load yourself")
    opensearch.add_argument("path", type=place, metavar="PATH", help=WHERE)
    opensearch.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="a new folder")
    opensearch.add_argument("--name", default="zipfian", metavar="INDEX", help="name of the index in the instructions")
    opensearch.add_argument("--server", default="2.19.1", metavar="VERSION", help="OpenSearch version it is for")
    opensearch.add_argument("--shards", type=positive, default=3, metavar="N")
    opensearch.add_argument("--replicas", type=int, default=1, metavar="N")
    opensearch.add_argument("--json", action="store_true", help="report as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.collection.settings import Settings
    from zipfian.collection.transforms import finder
    from zipfian.index.snapshot import Snapshot
    from zipfian.storage.directory import FSDirectory

    directory = FSDirectory(folder_of(args.path, "export the folder that it was copied from"))
    with Snapshot.open(directory) as snapshot:
        settings = Settings.from_json(snapshot.settings, str(args.path)).finding(finder(directory))
        return (
            _surrogate(args, snapshot, settings) if args.kind == "surrogate" else _opensearch(args, snapshot, settings)
        )


def _surrogate(args: argparse.Namespace, snapshot: Any, settings: Any) -> int:
    from zipfian.engines.opensearch.export import surrogate_lines
    from zipfian.errors import InvalidInput

    fields = list(settings.posting_fields)
    name = args.field or (fields[0] if len(fields) == 1 else None)
    if name is None:
        raise InvalidInput(f"name a field with --field; the collection has: {', '.join(fields)}")
    lines = surrogate_lines(snapshot, settings, name, steps=args.scale, prefix=args.prefix)
    total = sum(segment.n_live for segment in snapshot.segments)
    with args.out.open("w", encoding="utf-8") if args.out else nullcontext(sys.stdout) as out:
        for doc_id, text in Progress("exporting", total).over(lines):
            # an id with a tab or a line break would be read as something else, and one with an escape be obeyed
            shown = doc_id.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
            out.write(f"{escaped(text)}\n" if args.no_ids else f"{escaped(shown)}\t{escaped(text)}\n")
    return 0


def _opensearch(args: argparse.Namespace, snapshot: Any, settings: Any) -> int:
    from zipfian.engines.opensearch.client import Server
    from zipfian.engines.opensearch.export import write_opensearch

    server = Server("opensearch", args.server)
    done = write_opensearch(
        snapshot, settings, args.out, args.name, server=server, shards=args.shards, replicas=args.replicas
    )
    if args.json:
        print_json({"documents": done.documents, "files": [str(f) for f in done.files], "loss": dict(done.loss)})
        return 0
    for name, loss in done.loss.items():
        if loss > 0:
            note(
                printable(f"field {name}: weights differ by {loss:.2%} on average after rounding to whole frequencies")
            )
    print(f"{args.out}: {done.documents:,} documents in {len(done.files):,} files; README.txt says how to load them")
    return 0
