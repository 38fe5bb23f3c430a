"""What growing costs with real texts: `zipfian index` of sentences, and searches by words, meaning and vectors.

    python -m benchmarks.gpu_texts --out build/texts --paragraphs WIKI.txt
    python -m benchmarks.growth_texts --texts build/texts --queries xquad-en/queries.jsonl --sizes 10000 100000

Texts are encoded once for each size (`zipfian encode`), and every set of fields is indexed from that, in a process of
its own, as is the search; a size above `--encoded-up-to` has words alone. What a query's encoder takes is told apart.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from benchmarks import gpu_texts, machine

KEPT = Path("results/speed/growth-texts.json")
SETS = ("words", "words,latent", "words,latent,dense")
QUERIES = 200
CHANGES = 5


def measure(n: int, texts: Path, queries: Path, encode: bool) -> dict[str, Any]:
    """One size: encoded once, then every set of fields."""
    out: dict[str, Any] = {"documents": n}
    with tempfile.TemporaryDirectory(prefix="zipfian-growth-") as room:
        folder = Path(room)
        source = folder / "texts.jsonl"
        out["characters"] = _write(gpu_texts.read(texts, "short", n), source)
        if encode:
            out["encode"] = _step("encode", str(source), str(folder / "shard"))
        for fields in SETS if encode else SETS[:1]:
            made = folder / f"{fields}.zf"
            found = _step("index", str(source), str(made), fields, str(folder / "shard") if "," in fields else "")
            found["disk"] = sum(file.stat().st_size for file in made.iterdir())
            found |= _step("search", str(made), str(queries))
            out[fields] = found | _step("change", str(made), str(source))
    return out


def _write(texts: Sequence[str], path: Path) -> int:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"s{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    return sum(map(len, texts))


def _step(name: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth_texts", "--step", name, *arguments],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = done.stdout.splitlines()[-1]
    print(name, *arguments[1:], line, file=sys.stderr, flush=True)
    found: dict[str, Any] = json.loads(line)
    return found


def encode(source: str, shard: str) -> dict[str, Any]:
    """Latent terms and vectors of all texts, on all processors."""
    return _command("encode", source, "--out", shard, "--fields", "latent,dense")


def index(source: str, made: str, fields: str, shard: str) -> dict[str, Any]:
    """A new collection."""
    return _command("index", source, "--into", made, "--fields", fields, *(["--encoded", shard] if shard else []))


def _command(*arguments: str) -> dict[str, Any]:
    from zipfian.cli import main as zipfian

    start = time.perf_counter()
    status = zipfian([*arguments, "--json"])
    if status:
        raise RuntimeError(f"zipfian {arguments[0]}: exit status {status}")
    return {"seconds": time.perf_counter() - start, "peak": machine.peak_bytes()}


def search(made: str, queries: str) -> dict[str, Any]:
    """Opening, the first search, all queries once, and once more; the query's encoder apart."""
    lines = Path(queries).read_text(encoding="utf-8").splitlines()[:QUERIES]
    asked = [json.loads(line)["text"] for line in lines]
    start = time.perf_counter()
    with zf.Collection.open(made) as opened:
        out: dict[str, Any] = {"open_s": time.perf_counter() - start}
        cold = [opened.search(text, k=10).timings for text in asked]
        warm = [opened.search(text, k=10).timings for text in asked]
        out |= {"first_ms": 1e3 * (cold[0]["total"] - cold[0]["encode"]), "serving": machine.resident_bytes()}
        for name, took in (("cold", cold[1:]), ("warm", warm)):
            ms = [1e3 * (one["total"] - one["encode"]) for one in took]
            out |= {f"{name}_p50_ms": float(np.percentile(ms, 50)), f"{name}_p95_ms": float(np.percentile(ms, 95))}
        out["encode_p50_ms"] = 1e3 * statistics.median(one["encode"] for one in warm)
        return out


def change(made: str, source: str) -> dict[str, Any]:
    """One document added and committed, one deleted and committed; medians of some of each, after one that is not."""
    added, deleted = [], []
    with zf.Collection.open(made, "w") as opened, Path(source).open(encoding="utf-8") as file:
        for i, line in enumerate(itertools.islice(file, CHANGES + 1)):
            record = json.loads(line)
            start = time.perf_counter()
            opened.add([{"id": f"new-{i}", "text": f"{record['text']} {i}"}])
            opened.commit()
            added.append(time.perf_counter() - start)
            start = time.perf_counter()
            opened.delete([record["id"]])
            opened.commit()
            deleted.append(time.perf_counter() - start)
    return {"add_one_s": statistics.median(added[1:]), "delete_one_s": statistics.median(deleted[1:])}


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "encode": encode, "index": index, "search": search, "change": change,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth_texts", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--texts", type=Path, help="a folder of benchmarks.gpu_texts")
    parser.add_argument("--queries", type=Path, help="JSON lines with 'text'")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--encoded-up-to", type=int, default=100_000, help="larger ones have words alone (%(default)s)")
    parser.add_argument("--json", type=Path, default=KEPT, help="where the records go (default: %(default)s)")
    parser.add_argument("--step", nargs="+", metavar=("STEP", "ARGUMENT"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.step:
        name, *rest = given.step
        print(json.dumps(STEPS[name](*rest)))
        return
    if given.texts is None or given.queries is None:
        parser.error("--texts and --queries are needed")
    known: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {"points": {}}
    for n in given.sizes:
        found = measure(n, given.texts, given.queries, n <= given.encoded_up_to)
        known["points"][str(n)] = {**found, "machine": machine.describe()}
        given.json.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
