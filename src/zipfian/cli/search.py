"""`zipfian search PATH [QUERY] [--image FILE]`: the best documents, and why each was found."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _encoding, _fields
from zipfian.cli._arguments import positive, refuse
from zipfian.cli._collection import WHERE, Place, add_trust, how_to_add, opened, place, trusted
from zipfian.cli._output import DIM, human_seconds, note, paint, plain, print_json, printable
from zipfian.cli._service import connected, is_service, options_of, typed
from zipfian.cli._shapes import search_settings
from zipfian.cli._show import picture_of, print_hit, visual_tree
from zipfian.cli._where import add_where, filter_of
from zipfian.errors import InvalidInput
from zipfian.explain.spans import spans_of
from zipfian.limits import MAX_IMAGE_BYTES
from zipfian.storage.regular import look

if TYPE_CHECKING:
    from zipfian.client import RemoteCollection, RemoteResults
    from zipfian.collection import Collection, Hit, Results


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "A query is a text, a picture (--image), or both."
    parser.add_argument("path", type=place, metavar="PATH", help=f"{WHERE}, or http://host:8765/name of a service")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="what to look for")
    add_question(parser)
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="how many hits (10)")
    add_where(parser)
    parser.add_argument(
        "--min-confidence", type=float, default=0.0, metavar="P", help="only hits this likely to be right, 0 to 1"
    )
    parser.add_argument("--exclude-self", action="store_true", help="leave the picture of --image itself out")
    parser.add_argument("--highlight", action="store_true", help="show the best passage, matches marked, and why")
    parser.add_argument(
        "--json", action="store_true", help="print hits as JSON; with --highlight also the explanations"
    )


def add_question(parser: argparse.ArgumentParser) -> None:
    """Arguments of every command that asks something."""
    parser.add_argument("--image", type=Path, metavar="FILE", help="a picture to search with")
    parser.add_argument(
        "--fields", metavar="A[,B]", help="search this field only, e.g. words, latent, visual, dense; or fuse these"
    )
    parser.add_argument(
        "--method", metavar="NAME", help="hybrid (default), rrf, linear, fusion, two-stage, late, tfidf, ..."
    )
    parser.add_argument("--preset", metavar="NAME", help="latency-first, balanced or accuracy-first")
    parser.add_argument(
        "--query-encoder",
        dest="query_encoder",
        choices=("encoder", "table"),
        help="how a text becomes latent terms: by the encoder, or by a table in microseconds; with the table no "
        "network runs, and fields that need one are left out",
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.image is None:
        refuse(args, ["exclude_self"], "leaves out the picture that is looked for: give one with --image FILE")
    if is_service(args.path):  # what it answers is shown as a search at hand would be
        with connected(args) as remote:
            return _answer(
                args, remote, options_of(args),
                lambda found, hit: print_hit(hit, found.explain(hit) if args.highlight or hit.picture else None),
            )  # fmt: skip
    with opened(args.path, **trusted(args)) as collection:
        options = question(collection, args)
        return _answer(
            args, collection, options,
            lambda found, hit: show(collection, found, hit, args.highlight, options.get("image")),
        )  # fmt: skip


def _answer(
    args: argparse.Namespace, collection: Collection | RemoteCollection, options: Mapping[str, Any],
    shown: Callable[[Any, Any], None],
) -> int:  # fmt: skip
    """Search with these options, and print what was found; `shown` prints a hit of some results."""
    where = filter_of(args.where, collection.columns, args.path)
    start = time.perf_counter()
    results = collection.search(
        args.query, k=args.k, where=where, min_confidence=args.min_confidence,
        exclude_self=args.exclude_self, **options,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if args.json:
        print_json(as_json(args.query, results, args.highlight, args.image))
        return 0
    for hit in results:
        shown(results, hit)
    _close(results, seconds, len(collection))
    return 0


def _close(results: Results | RemoteResults, seconds: float, documents: int) -> None:
    """How many were found, how long it took, and what the reader should know."""
    count = len(list(results))
    nothing = "no hit" if results.notes else "no document shares a term with the query"
    found = f"{count} hit{'s' * (count != 1)}" if count else nothing
    encoding = results.timings.get("encode", 0.0)
    encoder = f", the encoder {human_seconds(encoding)} of it" if encoding > seconds / 10 else ""
    for said in results.notes:
        note(printable(said))
    note(paint(f"{found} ({human_seconds(seconds)}{encoder}; {documents:,} documents)", DIM))


def show(collection: Collection, results: Results, hit: Hit, highlight: bool = True, image: str | None = None) -> None:
    """Print a hit: a picture always with its reasons, a text when they are asked for.

    A picture that was found by words says where only if that is asked for: it has to be encoded again for it.
    """
    if picture_of(hit.metadata) is None:
        print_hit(hit, results.explain(hit) if highlight else None)
        return
    tree = results.explain(hit, places=highlight or image is not None)
    print_hit(hit, tree, visual_tree(collection, hit.id, image, tree))


def question(collection: Collection, args: argparse.Namespace) -> dict[str, Any]:
    """The options of a search as typed, checked against what the collection can do; missing weights are fetched."""
    options = typed(args)
    if args.query is None and args.query_encoder is not None:
        raise InvalidInput("--query-encoder says how a text becomes latent terms: give a QUERY, or leave it out")
    if args.image is not None:
        look(args.image, MAX_IMAGE_BYTES)
        options["image"] = os.path.abspath(args.image)
    fields = collection.fields
    for name in options.get("fields", ()):
        if name not in fields:
            raise InvalidInput(_no_field(args.path, name, list(fields)))
    taken = {field.takes for field in fields.values()}
    if args.image is not None and "image" not in taken:
        raise InvalidInput(
            f"no field of {args.path} looks at pictures (it has: {', '.join(fields)}); for a collection of pictures: "
            f"{how_to_add(args.path, 'visual')}"
        )
    if args.image is None and "text" not in taken:
        raise InvalidInput(
            f"no field of {args.path} takes a text (it has: {', '.join(fields)}). Search with a picture "
            "(--image FILE), or "
            f"let texts find pictures: {how_to_add(args.path, 'aligned')}"
        )
    wanted = {"text"} if args.image is None else {"image"} if args.query is None else {"text", "image"}
    fitting = [
        field for name, field in fields.items() if field.takes in wanted and name in options.get("fields", fields)
    ]
    if args.preset != "latency-first":
        _encoding.fetch_weights(fitting, "the words field needs none: --fields words", asked=True)
    return options


def _no_field(path: Place, name: str, has: list[str]) -> str:
    if name in _fields.NAMES:
        return f"{path} has no field {name!r} (it has: {', '.join(has)}); add it: {how_to_add(path, name)}"
    return f"there is no field {name!r}; {path} has: {', '.join(has)}"


def as_json(
    query: str | None, results: Results | RemoteResults, highlight: bool, image: Path | None = None
) -> dict[str, Any]:
    """Everything a program may want to know about a search."""
    hits: list[dict[str, Any]] = []
    for hit in results:
        shown: dict[str, Any] = {
            "rank": hit.rank,
            "id": hit.id,
            "score": hit.score,
            "confidence": hit.confidence,
            "legs": hit.fields,
            "first_rank": getattr(hit, "first_rank", hit.rank),
            "exact_match": getattr(hit, "exact_match", False),
            "metadata": hit.metadata,
            "text": hit.text,
        }
        if highlight:
            tree = results.explain(hit)  # type: ignore[arg-type]  # each hit goes with its own kind of results
            shown["highlights"] = [(span.start, span.end) for span in spans_of(tree)[0]]
            shown["explanation"] = tree
        hits.append(shown)
    out: dict[str, Any] = plain(
        {
            "query": query,
            "image": None if image is None else os.path.abspath(image),
            "generation": results.generation,
            "notes": results.notes,
            "settings": search_settings(results.settings),
            "timings": results.timings,
            "hits": hits,
        }
    )
    return out
