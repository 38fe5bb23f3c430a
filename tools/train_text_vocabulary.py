"""Train text vocabularies on one GPU and measure them, in one run that keeps everything on the device.

    PYTHONPATH=src python3 tools/train_text_vocabulary.py --model FOLDER --text wiki-paragraphs.txt.xz \
        --collections FOLDER --work WORK --out OUT --budget 480

Needs torch, tokenizers, safetensors and numpy only. FOLDER holds model.safetensors (float16 is enough) and
tokenizer.json of all-MiniLM-L6-v2. Settings are chosen on the queries whose sha1 is even; the odd half reports.
`--tiny` rehearses all of it on a CPU in a minute or two.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from train_plan import Clock
from train_text_codes import (
    JOINED,
    LAYERS,
    Corpus,
    Item,
    Tables,
    Test,
    codes_of,
    joined,
    make_tables,
    plan_item,
    quantise_in_place,
)
from train_text_encode import MiniLM, Pieces, hidden_states, read_collection, read_lines, tokenise
from train_text_eval import K_MAX, Scoring, ndcg, ranking
from train_text_report import evaluate, show, table_line
from train_text_stats import firings

from zipfian.train.export import save_vocabulary
from zipfian.train.sae import Progress, TrainResult, reconstruction, train_sae
from zipfian.train.settings import SaeSettings

HELD_OUT = 65_536
POSTINGS_LIMIT = 370.0
PLAN = (
    "l1-k16-s0", "cat-k16-s0", "l2-k16-s0", "l1-k8-s0", "l1-k32-s0", "cat-k8-s0", "cat-k32-s0",
    "l1-k16-s1", "l1-k16-s2", "cat-k16-s1", "cat-k16-s2", "l1-k16-s0-e1", "l1-k16-s0-e6", "l1-k16-s0-w8192",
    "l1-k16-s0-noaux", "l1-k4-s0",
)  # fmt: skip


def random_spans(pieces: Pieces, seed: int, low: int = 3, high: int = 14) -> Pieces:
    """One short stretch of every text: what queries look like, as far as length goes."""
    rng = np.random.default_rng(seed)
    lengths = np.diff(pieces.indptr)
    size = np.minimum(rng.integers(low, high + 1, len(lengths)), lengths)
    start = pieces.indptr[:-1] + np.floor(rng.random(len(lengths)) * (lengths - size + 1)).astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(size)))
    inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], size)
    return Pieces(pieces.ids[np.repeat(start, size) + inside], indptr)


def load_corpus(args: argparse.Namespace, model: MiniLM, clock: Clock) -> Corpus:
    sha256 = hashlib.sha256(args.text.read_bytes()).hexdigest()
    cache = args.work / f"pieces-{sha256[:12]}-{args.limit or 'all'}.npz"
    if cache.exists():
        with np.load(cache) as kept:
            pieces = Pieces(kept["ids"], kept["indptr"])
    else:
        texts = read_lines(args.text, args.limit)
        clock.say(f"{len(texts):,} paragraphs read")
        pieces = tokenise(args.model / "tokenizer.json", texts)
        args.work.mkdir(parents=True, exist_ok=True)
        np.savez(cache, ids=pieces.ids, indptr=pieces.indptr)
    clock.say(f"{len(pieces.ids):,} word pieces")
    states, _ = hidden_states(model, pieces, LAYERS, batch_tokens=args.batch_tokens)
    spans = random_spans(pieces, seed=7)
    span_states, _ = hidden_states(model, spans, LAYERS, batch_tokens=args.batch_tokens)
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    norms = [float(state[:100_000].float().norm(dim=1).mean()) for state in states]
    clock.say(f"encoded; mean norms of layers {LAYERS}: {norms[0]:.2f} {norms[1]:.2f}; {len(spans.ids):,} span pieces")
    return Corpus(
        pieces, dict(zip(LAYERS, states, strict=True)), spans, dict(zip(LAYERS, span_states, strict=True)), sha256
    )


def load_tests(args: argparse.Namespace, clock: Clock) -> list[Test]:
    if args.collections is None:
        return []
    model = MiniLM(args.model, args.device, torch.float32)
    found = []
    for folder in sorted(path.parent for path in args.collections.glob("*/corpus.jsonl")):
        collection = read_collection(folder, args.model / "tokenizer.json", 200 if args.tiny else None)
        documents, pooled = hidden_states(
            model, collection.documents, LAYERS, store=torch.float32, batch_tokens=args.batch_tokens, pooled=True
        )
        queries, asked = hidden_states(
            model, collection.queries, LAYERS, store=torch.float32, batch_tokens=args.batch_tokens, pooled=True
        )
        if pooled is not None and asked is not None:
            dense = ndcg(ranking(asked @ pooled.T + 2.0), collection.relevant).mean()
            clock.say(
                f"{collection.name}: {len(pooled)} documents of {len(collection.documents.ids) / len(pooled):.0f} "
                f"pieces, {len(asked)} queries, dense nDCG@10 {dense:.4f}"
            )
        found.append(
            Test(collection, dict(zip(LAYERS, documents, strict=True)), dict(zip(LAYERS, queries, strict=True)))
        )
    return found


def train_one(item: Item, corpus: Corpus, args: argparse.Namespace, clock: Clock) -> tuple[TrainResult, Any]:
    held = min(HELD_OUT, len(corpus.pieces.ids) // 10)
    n = len(corpus.pieces.ids) - held
    source = joined({layer: state[:n] for layer, state in corpus.states.items()}, item.layers)
    rest = joined({layer: state[n:] for layer, state in corpus.states.items()}, item.layers)
    rows = rest.take(torch.arange(held), args.device)

    def tell(p: Progress) -> None:
        if args.verbose or p.step == p.steps:
            clock.say(
                f"{item.name} {p.step}/{p.steps} fvu {p.fvu:.4f} l0 {p.l0:.1f} dead {p.dead:.4f} {p.seconds:.1f}s"
            )

    result = train_sae(source, item.settings, device=args.device, progress=tell, report_every=500, held_out=rows)
    for k in (16, 8, 4):
        if k <= item.settings.width:
            result.metrics[f"held_out_fvu_k{k}"] = reconstruction(result, rows, k)["fvu"]
    return result, rows


def bench(corpus: Corpus, args: argparse.Namespace, base: SaeSettings, clock: Clock) -> None:
    """Milliseconds per step by precision: 60 steps each."""
    rows = min(len(corpus.pieces.ids), max(base.batch * 60, 4 * base.width))
    for layers in ("l1", "cat"):
        source = joined({layer: state[:rows] for layer, state in corpus.states.items()}, layers)
        for precision in ("tf32", "bf16"):
            settings = replace(base, precision=precision, epochs=1.0)
            result = train_sae(source, settings, device=args.device)
            clock.say(
                f"bench {layers} {precision}: {1e3 * result.metrics['seconds'] / result.metrics['steps']:.2f} ms a step"
            )


def save(result: TrainResult, item: Item, corpus: Corpus, rows: list[dict[str, Any]], folder: Path) -> None:
    info = {
        "name": item.name,
        "encoder": "all-MiniLM-L6-v2",
        "layers": JOINED[item.layers],
        "data": "wiki-paragraphs.txt.xz",
        "data_sha256": corpus.sha256,
        "retrieval": [
            {key: row[key] for key in ("documents", "queries", "even", "odd", "all", "scifact_postings")}
            for row in rows
            if row["scoring"] == str(tuple(Scoring())) and row["queries"] in (row["documents"], "text16r8", "both16r8")
        ],
    }
    save_vocabulary(result, folder / item.name, info=info)


def save_statistics(codes: Any, corpus: Corpus, tables: Tables, width: int, folder: Path, keep: int) -> None:
    """Query tables, firings and piece histograms of a vocabulary that is kept."""
    from safetensors.numpy import save_file

    def blocks() -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        for start in range(0, len(codes[0]), 1 << 20):
            yield start, codes[0][start : start + (1 << 20)], codes[1][start : start + (1 << 20)].long()

    paragraphs = torch.from_numpy(corpus.pieces.indptr.copy()).to(codes[0].device)
    tensors = firings(blocks, paragraphs, width, 8, keep)
    pieces, shares = tables.pieces.top_pieces(16)
    tensors["top_pieces"] = pieces.cpu().numpy().astype(np.uint16)
    tensors["top_piece_shares"] = shares.cpu().numpy().astype(np.float16)
    tensors["piece_count"] = tables.pieces.count.cpu().numpy().astype(np.int32)
    tensors["paragraph_tokens"] = np.diff(corpus.pieces.indptr).astype(np.uint16)
    for name in ("text16", "both16"):
        terms, values = tables.rows[name]
        tensors[f"query_{name}_terms"] = terms.cpu().numpy().astype(np.uint16)
        tensors[f"query_{name}_weights"] = values.cpu().numpy().astype(np.float16)
    save_file(tensors, folder / "statistics.safetensors")


def pack(folder: Path, target: Path, names: list[str]) -> int:
    with tarfile.open(target, "w") as archive:
        for name in names:
            if (folder / name).exists():
                archive.add(folder / name, arcname=f"{folder.name}/{name}")
    return target.stat().st_size


def run(args: argparse.Namespace) -> None:
    clock = Clock(args.budget)
    cuda = args.device.startswith("cuda")
    clock.say(f"torch {torch.__version__} on {torch.cuda.get_device_name() if cuda else 'CPU'}")
    args.out.mkdir(parents=True, exist_ok=True)
    args.work.mkdir(parents=True, exist_ok=True)
    model = MiniLM(args.model, args.device, torch.float16 if cuda else torch.float32)
    corpus = load_corpus(args, model, clock)
    tests = load_tests(args, clock)
    base = SaeSettings(
        width=args.width, batch=args.batch, epochs=args.epochs, dead_after=args.dead_after, precision=args.precision
    )
    if args.bench:
        bench(corpus, args, base, clock)
    items = [plan_item(name, base) for name in args.plan]
    all_rows: list[dict[str, Any]] = []
    metrics: dict[str, Any] = {}
    longest = 0.0
    done: list[Item] = []
    for item in items:
        if clock.left() < longest * 1.2 + args.reserve:
            clock.say(f"no time left for {item.name}")
            continue
        began = clock.now()
        result, held_rows = train_one(item, corpus, args, clock)
        exact = None
        if args.exact:
            exact = evaluate(result, item, tests, None, grid=False)
        quantise_in_place(result)
        metrics[item.name] = result.metrics
        result.metrics["held_out_int8"] = reconstruction(result, held_rows)
        codes = codes_of(result, joined(corpus.states, item.layers), K_MAX, precision="tf32")
        span_codes = codes_of(result, joined(corpus.span_states, item.layers), K_MAX, precision="tf32")
        tables = make_tables(codes, span_codes, corpus, item.settings.width)
        rows = evaluate(result, item, tests, tables, grid=args.grid)
        if exact is not None:
            before = {(r["documents"], r["queries"], r["scoring"]): r["all"] for r in exact}
            after = {(r["documents"], r["queries"], r["scoring"]): r["all"] for r in rows}
            change = [after[key] - score for key, score in before.items()]
            result.metrics["int8_minus_float32_ndcg"] = [float(np.min(change)), float(np.max(change))]
            clock.say(f"int8 against float32, nDCG@10 by variant: {min(change):+.4f} to {max(change):+.4f}")
        show(rows, clock.say)
        all_rows += rows
        save(result, item, corpus, rows, args.work)
        if item.name in args.keep or (not args.keep and item.name.endswith("-s0")):
            save_statistics(codes, corpus, tables, item.settings.width, args.work / item.name, args.firings)
        del result, codes, span_codes, tables
        done.append(item)
        longest = max(longest, clock.now() - began)
        summary = {"metrics": metrics, "rows": all_rows, "data_sha256": corpus.sha256}
        (args.out / "metrics.json").write_text(json.dumps(summary))
        clock.say(f"{item.name} took {clock.now() - began:.1f}s")
    finish(args, clock, done, metrics, all_rows)


def finish(
    args: argparse.Namespace, clock: Clock, done: list[Item], metrics: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    """The tables to decide from, and the vocabularies that travel back."""
    print(f"\n{'name':<18}{'fvu':>8}{'k8':>8}{'k4':>8}{'int8':>8}{'l0':>6}{'dead':>8}{'seconds':>9}")
    for item in done:
        m = metrics[item.name]
        print(
            f"{item.name:<18}{m['held_out']['fvu']:8.4f}{m['held_out_fvu_k8']:8.4f}{m['held_out_fvu_k4']:8.4f}"
            f"{m['held_out_int8']['fvu']:8.4f}{m['held_out']['l0']:6.1f}{m['train']['dead']:8.4f}{m['seconds']:9.1f}"
        )
    plain = str(tuple(Scoring()))
    few = [row for row in rows if row["scifact_postings"] <= POSTINGS_LIMIT and row["scoring"] == plain]
    for table in (False, True):
        print(f"\nbest at <= {POSTINGS_LIMIT:.0f} postings by even queries, {'table' if table else 'encoder'} queries")
        for row in sorted((r for r in few if ("r" in r["queries"]) == table), key=lambda r: -r["even"])[:14]:
            print(table_line(row))
    keep = list(args.keep)
    if not keep and few:
        keep = list(dict.fromkeys(row["name"] for row in sorted(few, key=lambda r: -r["even"])))[:2]
    total = 0
    for name in keep:
        folder = args.work / name
        if not folder.exists():
            continue
        for target, names in (
            (f"{name}.tar", ["sae.safetensors", "sae.json", "README.md", "history.json"]),
            (f"{name}-statistics.tar", ["statistics.safetensors"]),
        ):
            if (folder / names[0]).exists():
                size = pack(folder, args.out / target, names)
                total += size
                print(f"{target}: {size / 2**20:.1f} MiB" + (" (over 16 MiB)" if size > 16 * 2**20 else ""))
    clock.say(f"done; {total / 2**20:.1f} MiB of vocabularies in {args.out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--collections", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="kept between runs on one machine")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--plan", type=lambda text: tuple(text.split(",")), default=PLAN)
    parser.add_argument("--keep", type=lambda text: tuple(text.split(",")), default=(), help="names to bring back")
    parser.add_argument("--width", type=int, default=16_384)
    parser.add_argument("--batch", type=int, default=8_192)
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--dead-after", type=int, default=1_000_000)
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "tf32", "bf16"))
    parser.add_argument("--batch-tokens", type=int, default=131_072)
    parser.add_argument("--firings", type=int, default=100)
    parser.add_argument("--limit", type=int, help="paragraphs to read")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds; no training starts that would not fit")
    parser.add_argument("--reserve", type=float, default=20.0)
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--grid", action="store_true", help="also try k1 and powers")
    parser.add_argument("--exact", action="store_true", help="also measure float32 weights")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    args = parser.parse_args()
    if args.tiny:
        args.width, args.batch, args.epochs, args.limit = 512, 512, 2.0, 400
        args.batch_tokens, args.dead_after = 8_192, 20_000
        args.budget = 1e9
        if args.plan is PLAN:
            args.plan = ("l1-k16-s0", "cat-k8-s1")
    run(args)


if __name__ == "__main__":
    sys.exit(main())
