"""What a hybrid query costs at 100,000 documents, without the encoder: `python -m benchmarks.hybrid [--documents N]`.

Texts: words of real paragraphs when `--text FILE.xz` is given (one per line), made-up ones otherwise; latent terms and
pooled vectors are made up with the shape of the real ones (Zipfian terms, 240 a document; 384 numbers). Pictures: 96
visual words and 1,280 numbers. Everything after the encoder is the product's own code: fields, fusion, reranking, hits.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from benchmarks import machine
from zipfian.collection.execute import Run
from zipfian.collection.plan import SearchPlan
from zipfian.collection.retrievers import make_retriever
from zipfian.fields.query import Query
from zipfian.fuse.adaptive import Adaptive
from zipfian.rerank.adaptive_k import AdaptiveK


def zipfian_terms(rng: Any, n: int, size: int, terms: int, exponent: float = 0.9) -> list[zf.Terms]:
    """Documents of about `size` distinct terms whose frequencies follow a power law."""
    weights = 1.0 / np.arange(1, terms + 1) ** exponent
    cumulative = np.cumsum(weights / weights.sum())
    out = []
    for _ in range(n):
        ids = np.unique(np.searchsorted(cumulative, rng.random(int(size * 1.3))))[: size + 1].astype(np.int32)
        out.append(zf.Terms(np.minimum(ids, terms - 1), rng.gamma(2.0, 4.0, len(ids)).astype(np.float32) + 0.02))
    return out


def texts(path: Path | None, n: int, rng: Any) -> list[str]:
    if path is None:
        words = [f"w{i}" for i in range(50_000)]
        picks = np.minimum(rng.zipf(1.3, (n, 60)), len(words)) - 1
        return [" ".join(words[i] for i in row) for row in picks]
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for _, line in zip(range(n), lines, strict=False)]


def clock(run: Run, k: int, rounds: int) -> dict[str, float]:
    """Milliseconds of the fields alone, of all together, and of the stages in between."""
    out: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, retriever in run.retrievers.items():
            start = time.perf_counter()
            retriever.search(100, None)
            out.setdefault(name, []).append(time.perf_counter() - start)
        start = time.perf_counter()
        run.search(k, None)
        out.setdefault("together", []).append(time.perf_counter() - start)
    return {name: 1e3 * float(np.median(values)) for name, values in out.items()}


def prepared(searcher: Any, plan: SearchPlan, questions: dict[str, Query]) -> Run:
    """A run whose fields were asked by hand, since there is no encoder here."""
    run = Run.__new__(Run)
    run.searcher, run.plan, run.query = searcher, plan, next(iter(questions.values()))
    run.retrievers = {name: make_retriever(searcher, name, questions[name]) for name in plan.fields}
    run.reranker = make_retriever(searcher, plan.reranker, questions[plan.reranker]) if plan.reranker else None  # type: ignore[assignment]
    run.captions = None
    return run


def measure(args: argparse.Namespace) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n = args.documents
    results: dict[str, Any] = {"documents": n, "queries": args.queries}
    with tempfile.TemporaryDirectory() as folder:
        lines = texts(args.text, n, rng)
        latent = zipfian_terms(rng, n, 240, 16_384)
        dense = rng.normal(size=(n, 384)).astype(np.float32)
        fields = {
            "words": zf.Words(),
            "latent": zf.Sparse(16_384, scoring=zf.BM25(k1=4, b=0.7, phi="power:0.65")),
            "dense": zf.Dense(vector="dense"),
        }
        with zf.Collection.create(Path(folder) / "texts.zf", fields, encodings=False) as col:
            col.add(
                {"id": str(i), "text": lines[i], "terms": {"latent": latent[i]}, "vector": {"dense": dense[i]}}
                for i in range(n)
            )
            col.commit()
            col.merge()
            col.commit()
            plan = SearchPlan("hybrid", ("words", "latent", "dense"), Adaptive())
            found = []
            for q in range(args.queries):
                source = int(rng.integers(n))
                asked = " ".join(lines[source].split()[:10])
                heaviest = np.sort(np.argsort(-latent[source].weights)[:40])
                questions = {
                    "words": Query(asked),
                    "latent": Query(zf.Terms(latent[source].ids[heaviest], latent[source].weights[heaviest])),
                    "dense": Query(dense[source] + 0.5 * rng.normal(size=384).astype(np.float32)),
                }
                run = prepared(col.searcher(), plan, questions)
                if q == 0:
                    run.search(10, None)  # compiles, decodes
                found.append(clock(run, 10, 3))
            results["text: words + latent + dense 384"] = summary(found)
    with tempfile.TemporaryDirectory() as folder:
        visual = zipfian_terms(rng, n, 96, 11_520)
        dense = np.maximum(rng.normal(size=(n, 1280)), 0).astype(np.float32)
        fields = {
            "visual": zf.Sparse(11_520, scoring=zf.BM25(k1=8, b=0.7)),
            "dense": zf.Dense(vector="dense"),
        }
        with zf.Collection.create(Path(folder) / "pictures.zf", fields, encodings=False) as col:
            col.add({"id": str(i), "terms": {"visual": visual[i]}, "vector": {"dense": dense[i]}} for i in range(n))
            col.commit()
            col.merge()
            col.commit()
            for label, plan in (
                ("pictures: visual + dense 1280 fused", SearchPlan("hybrid", ("visual", "dense"), Adaptive())),
                (
                    "pictures: two-stage rerank_depth=200",
                    SearchPlan("two-stage", ("visual",), None, reranker="dense", rerank_depth=200),
                ),
                (
                    "pictures: two-stage, adaptive K",
                    SearchPlan(
                        "balanced", ("visual",), None, reranker="dense", rerank_depth=200, adaptive_k=AdaptiveK(50, 200)
                    ),
                ),
            ):
                found = []
                for q in range(args.queries):
                    source = int(rng.integers(n))
                    questions = {
                        "visual": Query(visual[source]),
                        "dense": Query(dense[source] + 0.5 * rng.normal(size=1280).astype(np.float32)),
                    }
                    run = prepared(col.searcher(), plan, questions)
                    if q == 0:
                        run.search(10, None)
                    found.append(clock(run, 10, 3))
                results[label] = summary(found)
    return results


def summary(found: list[dict[str, float]]) -> dict[str, str]:
    """p50 / p95 in milliseconds over the queries."""
    out = {}
    for name in found[0]:
        values = [row[name] for row in found]
        out[name] = f"{np.percentile(values, 50):.2f} / {np.percentile(values, 95):.2f}"
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--text", type=Path, help="paragraphs, one per line, xz")
    parser.add_argument(
        "--json", type=Path, help="also write the numbers to this file, such as results/speed/hybrid.json"
    )
    options = parser.parse_args()
    found = json.dumps({"machine": machine.describe(), **measure(options)}, indent=1)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(found + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
