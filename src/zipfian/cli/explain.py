"""`zipfian explain PATH QUERY ID`: a score as the sum of its parts, on paper or on the picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from zipfian.cli import _show_patches
from zipfian.cli._collection import WHERE, opened, place, trusted
from zipfian.cli._output import note, print_json
from zipfian.cli._show import visual_tree
from zipfian.cli._tree import tree_lines
from zipfian.cli.search import add_question, question
from zipfian.errors import InvalidInput


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "With --image, QUERY may be left out: zipfian explain PATH ID --image FILE."
    parser.add_argument("path", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("query", nargs="?", metavar="QUERY", help="the query that the score is for")
    parser.add_argument("id", metavar="ID", help="the document")
    add_question(parser)
    parser.add_argument("--above", metavar="ID2", help="show instead which terms put ID above (or below) this document")
    parser.add_argument("--out", type=Path, metavar="FILE.png", help="draw the patches of a picture that count")
    parser.add_argument("--json", action="store_true", help="print the tree as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.out is not None and args.above is not None:
        raise InvalidInput("--out draws one picture: leave --above out")
    if args.out is not None and args.out.suffix.lower() != ".png":
        raise InvalidInput(f"--out writes a PNG: name a file that ends in .png, not {args.out.name}")
    with opened(args.path, **trusted(args)) as collection:
        options = question(collection, args)
        image = options.get("image")
        text, visual = None, None
        if args.above is None:
            tree = collection.explain(args.query, args.id, **options)
            visual = visual_tree(collection, args.id, image, tree)
            document = collection.get(args.id)
            text = document.text if document is not None else None
            if args.out is not None:
                picture = collection.picture(args.id)
                if picture is None:
                    raise InvalidInput(f"the document {args.id!r} has no picture to draw on")
                _show_patches.write(args.out, visual or tree, picture, collection.fields, image)
        else:
            tree = collection.why(args.query, args.id, args.above, **options)
    if args.json:
        print_json(tree if visual is None else {**tree.to_dict(), "visual": visual})
    else:
        print("\n".join(tree_lines(tree, text)))
        if visual is not None:
            print("the visual words that made it a candidate:")
            print("\n".join(tree_lines(visual, text)))
    if args.out is not None:
        note(f"drawn: {args.out}")
    return 0
