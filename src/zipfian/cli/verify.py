"""`zipfian verify`: the same queries on two collections, usually a folder and a cluster, and how far they agree."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zipfian.cli._arguments import json_object, positive
from zipfian.cli._collection import WHERE, add_trust, opened, place, trusted
from zipfian.cli._output import Progress, print_json, table
from zipfian.errors import InvalidInput

EXAMPLES = """queries are lines of text, or of JSON: a string, {"text": ...}, or {"terms": {"12": 0.5, ...}}

examples:
  zipfian verify notes.zf opensearch://localhost:9200/notes --queries queries.txt
  zipfian verify notes.zf opensearch://localhost:9200/notes --queries queries.jsonl --fields latent --at-least 0.95
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("first", type=place, metavar="PATH", help=WHERE)
    parser.add_argument("second", type=place, metavar="PATH", help="the other one")
    parser.add_argument("--queries", type=Path, required=True, metavar="FILE", help="one query a line")
    parser.add_argument("--fields", metavar="A[,B]", help="compare these fields; default: all, by the default method")
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="hits to compare (default: 10)")
    parser.add_argument("--where", type=json_object, metavar="JSON", help="a metadata filter for all queries")
    parser.add_argument("--at-least", type=float, metavar="SHARE", help="exit code 1 if the mean overlap is lower")
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.engines.opensearch.verify import verify

    queries = list(read_queries(args.queries))
    allowed = trusted(args)
    with opened(args.first, **allowed) as first, opened(args.second, **allowed) as second:
        asked = Progress("comparing", len(queries)).over(queries)
        report = verify(
            first,
            second,
            asked,
            k=args.k,
            fields=None if args.fields is None else args.fields.split(","),
            where=args.where,
        )
    if args.json:
        print_json(report.to_json())
    else:
        rows = [
            (f"overlap of the top {report.k}", f"{report.overlap:.4f}"),
            ("queries with the same list", f"{report.same_order:.4f}"),
            ("agreement of the order, missing documents counted", f"{report.rank_agreement:.4f}"),
            (
                f"rank correlation of the {report.shared:.1f} documents in both lists",
                "-" if report.rank_correlation is None else f"{report.rank_correlation:.4f}",
            ),
            ("score error, mean", f"{report.score_error_mean:.2e}"),
            ("score error, largest", f"{report.score_error_max:.2e}"),
        ]
        print(table((f"{report.queries:,} queries", ""), rows, right=[1]))
        for place, overlap in report.worst:
            print(f"lowest: query {place + 1}, overlap {overlap:.2f}")
    return 1 if args.at_least is not None and report.overlap < args.at_least else 0


def read_queries(path: Path) -> Iterator[Any]:
    """Texts and ready-made terms, line by line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith(("{", '"')):
            yield line.strip()
            continue
        try:
            value = json.loads(line)
            if isinstance(value, dict):
                terms = value.get("terms")
                value = value["text"] if terms is None else {int(t): float(w) for t, w in terms.items()}
        except (ValueError, KeyError, AttributeError, TypeError) as e:
            raise InvalidInput(f"{path}, line {number}: no query: {e!r:.80}") from None
        yield value
