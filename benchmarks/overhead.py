"""What Python costs around a search and an add, beside another checkout.

    git worktree add --detach ../other COMMIT
    python -m benchmarks.overhead --old ../other/src --name COMMIT --json results/speed/overhead.json

A search is timed beside the engine's own part of it (terms looked up, postings swept), query by query in turn; the
difference is what the collection adds. Processes with the two checkouts take turns, so that what disturbs the machine
disturbs both; the medians over their medians are written down.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
DOCUMENTS = 20_000
WORDS, TERMS = 3_000, 5_000
QUERIES = 300
ADDED = 4_000
ROUNDS = 5


def measure() -> dict[str, float]:
    """Microseconds, with the package that this process imports."""
    import zipfian as zf

    rng = np.random.default_rng(0)
    known = [f"w{a}{b}{c}" for a in "abcdefghijklmno" for b in "abcdefghijklmnopqrst" for c in "abcdefghij"][:WORDS]
    share = 1.0 / np.arange(1, WORDS + 1)
    texts = [
        " ".join(known[i] for i in row) for row in rng.choice(WORDS, (DOCUMENTS, 30), p=share / share.sum()).tolist()
    ]
    codes = [zf.Terms(np.sort(rng.choice(TERMS, 16, replace=False)), np.ones(16, np.float32)) for _ in range(DOCUMENTS)]
    queries = [" ".join(known[i] for i in rng.choice(WORDS, 4, p=share / share.sum())) for _ in range(QUERIES)]
    terms = [dict.fromkeys(rng.choice(TERMS, 8, replace=False).tolist(), 1.0) for _ in range(QUERIES)]
    out: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="zipfian-overhead-") as folder:
        fields = {"words": zf.Words(), "codes": zf.Sparse(TERMS)}
        with zf.Collection.create(f"{folder}/both.zf", fields, encodings=False) as both:
            both.add(
                {"id": f"doc-{i}", "text": text, "terms": {"codes": code}}
                for i, (text, code) in enumerate(zip(texts, codes, strict=True))
            )
            both.commit()
            _search(both, queries, terms, out)
        given = [{"id": f"doc-{i}", "terms": {"codes": code}} for i, code in enumerate(codes[:ADDED])]
        out["add terms"] = _add(f"{folder}/codes", {"codes": zf.Sparse(TERMS)}, given)
        out["add words"] = _add(
            f"{folder}/words",
            {"words": zf.Words()},
            [{"id": f"doc-{i}", "text": text} for i, text in enumerate(texts[:ADDED])],
        )
    return out


def _search(both: Any, queries: Sequence[str], terms: Sequence[Any], out: dict[str, float]) -> None:
    """A search beside its engine's part, with its hits left alone, their ids and scores read, and their fields too."""
    searcher = both.searcher()
    words, codes = searcher.field_searcher("words"), searcher.field_searcher("codes")
    analyser = searcher.settings.fields["words"].analyser
    engines: dict[str, tuple[Sequence[Any], Callable[[Any, int], Any]]] = {
        "words": (queries, lambda query, k: words.search(words.prepare(analyser.query(query, "en")), k)),
        "terms": (terms, lambda query, k: codes.search(codes.prepare(query), k)),
    }
    for what, (asked, engine) in engines.items():
        field = {"words": "words", "terms": "codes"}[what]
        for query in asked:  # lists are decoded, code is compiled
            engine(query, 10)
            both.search(query, k=1, fields=field)
        for k in (10, 100):
            took: dict[str, list[float]] = {"engine": [], **{name: [] for name in READ}}
            for query in asked:
                start = time.perf_counter()
                engine(query, k)
                took["engine"].append(time.perf_counter() - start)
                for i, (name, read) in enumerate(READ.items()):
                    new = query + " " * (i + 1) if isinstance(query, str) else query  # unknown to the query cache
                    start = time.perf_counter()
                    read(both.search(new, k=k, fields=field))
                    took[name].append(time.perf_counter() - start)
            alone = 1e6 * statistics.median(took["engine"])
            out[f"{what}, k={k}: engine"] = alone
            for name in READ:
                out[f"{what}, k={k}: around it, {name}"] = 1e6 * statistics.median(took[name]) - alone


READ: dict[str, Callable[[Any], Any]] = {
    "hits not read": len,
    "ids and scores read": lambda found: [(hit.id, hit.score) for hit in found],
    "fields read": lambda found: [(hit.id, hit.score, hit.fields) for hit in found],
}
"""What a caller does with its hits."""


def _add(path: str, fields: Any, documents: Sequence[Any]) -> float:
    """Microseconds a document, without the commit; the best of three."""
    import zipfian as zf

    took = []
    for i in range(3):
        with zf.Collection.create(f"{path}-{i}.zf", fields, encodings=False) as made:
            start = time.perf_counter()
            made.add(documents)
            took.append(time.perf_counter() - start)
    return 1e6 * min(took) / len(documents)


def compare(old: Path, rounds: int) -> dict[str, Any]:
    """Both checkouts in turns."""
    found: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    sources = {"old": old, "new": HERE.parents[1] / "src"}
    for i in range(rounds):
        for name in ("old", "new") if i % 2 else ("new", "old"):
            environment = {**os.environ, "PYTHONPATH": str(sources[name].resolve())}
            command = [sys.executable, str(HERE), "--measure"]
            told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            found[name].append(json.loads(told))
            print(f"round {i + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
    rows = {}
    for what in found["new"][0]:
        before, after = (statistics.median(one[what] for one in found[name]) for name in ("old", "new"))
        rows[what] = {"old": round(before, 2), "new": round(after, 2), "ratio": round(after / before, 3)}
    return {"unit": "microseconds", "documents": DOCUMENTS, "rounds": rounds, "rows": rows}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="src/ of the other checkout")
    parser.add_argument("--name", default="", help="which commit the other one is")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, help="where the result goes")
    parser.add_argument("--measure", action="store_true", help="this checkout alone, as JSON")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure()))
        return
    if args.old is None:
        parser.error("--old is the src/ of a checkout to compare with, such as a git worktree")
    from benchmarks import machine

    found = {"old": args.name, **compare(args.old, args.rounds), "machine": machine.describe()}
    for what, row in found["rows"].items():
        print(f"{what:45} {row['old']:9.1f} {row['new']:9.1f}   x {row['ratio']:.2f}")
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
