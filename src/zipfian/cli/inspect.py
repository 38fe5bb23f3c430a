"""`zipfian inspect`: what a collection or a vocabulary holds, what a term means, what an item is made of."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zipfian.cli._collection import add_trust, opened, place, trusted
from zipfian.cli._inspect_options import check_options
from zipfian.cli._output import BOLD, human_bytes, paint, plain, print_json, printable, table
from zipfian.cli._shapes import collection_stats
from zipfian.errors import InvalidInput

EXAMPLES = """examples:
  zipfian inspect notes.zf                                   what the collection holds
  zipfian inspect notes.zf --zipf --plot zipf.svg            how often its terms occur, field by field
  zipfian inspect notes.zf --field latent --term 4140          one term, with the strongest places in the collection
  zipfian inspect text-16k --find telescope                  terms of a shipped vocabulary by their labels
  zipfian inspect --text "why is the sky blue?"              the latent terms of a text
  zipfian inspect --image cat.jpg --out cat-terms.png        the visual words of a picture, outlined
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument(
        "path", nargs="?", metavar="WHAT", help="a collection, a shipped vocabulary (text-16k) or a vocabulary's folder"
    )
    parser.add_argument(
        "--field", metavar="NAME", help="the field of the collection that --term, --terms and --find mean"
    )
    parser.add_argument("--term", metavar="TERM", help="one term: its number, or the word in a field of words")
    parser.add_argument("--terms", action="store_true", help="list the terms, commonest first")
    parser.add_argument("--find", metavar="WORDS", help="list the terms whose labels have these words")
    parser.add_argument(
        "--zipf", action="store_true", help="how document frequencies are distributed, fields side by side"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --zipf: draw it as .png or .svg")
    parser.add_argument(
        "--queries", type=Path, metavar="FILE", help="with --zipf: a text file, one query a line, to count postings for"
    )
    parser.add_argument("--text", metavar="TEXT", help="show the latent terms of this text instead")
    parser.add_argument("--image", type=Path, metavar="FILE", help="show the visual words of this picture instead")
    parser.add_argument("--vocabulary", metavar="NAME", help="for --text and --image: a shipped name or a folder")
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="write patches as PNG: a file for --image, a folder for --term"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="with --term: also write a page for a browser")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="terms or examples to show; 0: all terms")
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.limit is not None and args.limit < 0:
        raise InvalidInput(f"--limit must be 0 or more, not {args.limit}")
    is_vocabulary = args.path is not None and _is_vocabulary(args.path)
    check_options(args, is_vocabulary)
    if args.text is not None or args.image is not None:
        from zipfian.cli import _inspect_item

        return _inspect_item.run(args)
    if args.path is None:
        raise InvalidInput("say what to inspect: a collection, a vocabulary, --text TEXT or --image FILE")
    if is_vocabulary:
        from zipfian.cli import _inspect_vocabulary

        return _inspect_vocabulary.run(args)
    if args.zipf or args.plot is not None:
        from zipfian.cli import _inspect_zipf

        return _inspect_zipf.run_collection(args)
    if args.term is not None or args.terms or args.find is not None:
        from zipfian.cli import _inspect_field

        return _inspect_field.run(args)
    with opened(place(args.path), **trusted(args)) as collection:
        stats = plain(collection.stats())
    if args.json:
        print_json(collection_stats(stats))
    else:
        print("\n".join(outline(stats)))
    return 0


def _is_vocabulary(what: str) -> bool:
    from zipfian.vocabulary._sae_weights import SETTINGS_FILE
    from zipfian.vocabulary.models import shipped

    return what in shipped() or (Path(what) / SETTINGS_FILE).is_file()


def outline(stats: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Nested values as indented lines; a list of objects with the same keys as a table."""
    indent = "  " * depth
    label = max((len(k) for k, v in stats.items() if not isinstance(v, dict)), default=0)
    for key, value in stats.items():
        if isinstance(value, dict) and value:
            yield indent + paint(printable(key), BOLD)
            yield from outline(value, depth + 1)
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield indent + paint(printable(key), BOLD)
            columns = list(value[0])
            rows = [[_cell(c, row.get(c, "")) for c in columns] for row in value]
            numeric = [i for i, c in enumerate(columns) if isinstance(value[0][c], int | float)]
            yield from (f"{indent}  {line}" for line in table(columns, rows, right=numeric).splitlines())
        else:
            yield f"{indent}{printable(key):<{label}}  {_cell(key, value)}"


def _cell(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and "bytes" in key:
        return human_bytes(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list):
        return ", ".join(_cell("", v) for v in value) or "-"
    return "-" if value is None or value == {} else printable(str(value))
