"""`zipfian search PATH QUERY`: the best documents, with the words that matched."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli._arguments import json_object, positive
from zipfian.cli._collection import opened
from zipfian.cli._output import BOLD, DIM, human_seconds, note, paint, plain, print_json, printable, width
from zipfian.cli._snippet import Match, matches_of, snippet

if TYPE_CHECKING:
    from zipfian.collection import Hit, Results


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="PATH", help="the collection")
    parser.add_argument("query", metavar="QUERY", help="what to look for")
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="how many hits (10)")
    parser.add_argument(
        "--where", type=json_object, metavar="JSON", help="""only documents with this metadata, e.g. '{"type": "md"}'"""
    )
    parser.add_argument("--highlight", action="store_true", help="show the best passage with the matching words marked")
    parser.add_argument("--json", action="store_true", help="print hits as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    with opened(args.path) as collection:
        start = time.perf_counter()
        results = collection.search(args.query, k=args.k, where=args.where)
        seconds = time.perf_counter() - start
        if args.json:
            print_json(as_json(args.query, results, args.highlight))
            return 0
        for hit in results:
            print_hit(hit, matches_of(results.explain(hit)) if args.highlight else None)
        count = len(list(results))
        found = f"{count} hit{'s' * (count != 1)}" if count else "no document shares a term with the query"
        note(paint(f"{found} ({human_seconds(seconds)}, {len(collection):,} documents)", DIM))
    return 0


def print_hit(hit: Hit, matches: list[Match] | None) -> None:
    """Rank, score and id on one line, a passage below; the best one, marked, when matches are given."""
    print(f"{hit.rank:>3}  {hit.score:8.4f}  {paint(printable(hit.id), BOLD)}")
    text = hit.text or ""
    if text.strip():
        print(" " * 15 + snippet(text, matches or (), (width() - 20) * (1 if matches is None else 2)))


def as_json(query: str, results: Results, highlight: bool) -> dict[str, Any]:
    """Everything a program may want to know about a search."""
    hits: list[dict[str, Any]] = []
    for hit in results:
        shown: dict[str, Any] = {
            "rank": hit.rank,
            "id": hit.id,
            "score": hit.score,
            "legs": hit.legs,
            "metadata": hit.metadata,
            "text": hit.text,
        }
        if highlight:
            shown["highlights"] = [(match.start, match.end) for match in matches_of(results.explain(hit))]
        hits.append(shown)
    out: dict[str, Any] = plain(
        {"query": query, "generation": results.generation, "timings": results.timings, "hits": hits}
    )
    return out
