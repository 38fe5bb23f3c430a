"""Make every mistake of the list in a copy of the sources, and say which of them the tests noticed."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.mutants.mutation import mutations
from tests.mutants.report import table, write
from tests.mutants.tree import Tree

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Exit code 1 when any mutation was not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="mutations whose names contain one")
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of one mutation (%(default)s)")
    parser.add_argument("--write", action="store_true", help="put the results into results/mutants and docs/mutants.md")
    args = parser.parse_args()
    listed = mutations(args.only)
    if not listed:
        parser.error(f"no mutation has a name with {' or '.join(args.only)}; the names are in tests/mutants/list")
    results = []
    with tempfile.TemporaryDirectory(prefix="zipfian-mutants-") as folder:
        tree = Tree(CHECKOUT, Path(folder).resolve())
        for mutation in listed:
            results.append(tree.run(mutation, args.seconds))
            last = results[-1]
            print(f"{last.result:>9} {last.seconds:5.1f} s  {mutation.name}  {last.by}", flush=True)
            if args.write:
                write(CHECKOUT, results)
    print(f"\n{table(listed, results)}")
    print(", ".join(f"{n} {result}" for result, n in sorted(Counter(r.result for r in results).items())))
    return int(any(r.result != "caught" for r in results))


if __name__ == "__main__":
    sys.exit(main())
