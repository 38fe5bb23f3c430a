"""One published table or figure on the data at hand: `python -m experiments NAME --data pets=DIR --out DIR`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from experiments.catalogue import TABLES, run_table
from zipfian.errors import InvalidInput, ZipfianError


def main(argv: Sequence[str] | None = None) -> None:
    """Make a table, or list them all; an error is one line on standard error."""
    args = parser().parse_args(argv)
    if args.list or args.name is None:
        for table in TABLES.values():
            print(f"{table.name:<20} {table.summary} (--data {', '.join(table.data)})")
        return
    try:
        made = run_table(args.name, given_data(args.data), args.out, args.work)
    except (ZipfianError, OSError) as error:
        raise SystemExit(f"experiments: {error}") from None
    print(json.dumps(made.to_json(), ensure_ascii=False, indent=2) if args.json else made.markdown())


def parser() -> argparse.ArgumentParser:
    """What can be typed."""
    made = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    made.add_argument("name", nargs="?", metavar="NAME", help="of the table; leave out to list them")
    made.add_argument("--list", action="store_true", help="all names, with the data each takes")
    made.add_argument("--data", action="append", default=[], metavar="NAME=PATH", help="where a dataset lies")
    made.add_argument("--out", type=Path, metavar="DIR", help="write Markdown, JSON, CSV and plots here")
    made.add_argument("--work", type=Path, metavar="DIR", help="keep the built collections here")
    made.add_argument("--json", action="store_true", help="print the result as JSON")
    return made


def given_data(pairs: Sequence[str]) -> dict[str, Path]:
    """`NAME=PATH`, each of them."""
    out: dict[str, Path] = {}
    for pair in pairs:
        name, sign, path = pair.partition("=")
        if not (name and sign and path):
            raise InvalidInput(f"--data takes NAME=PATH, such as scifact=data/scifact, not {pair!r}")
        out[name] = Path(path)
    return out


if __name__ == "__main__":
    main()
