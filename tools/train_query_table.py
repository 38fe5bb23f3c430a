"""Make the query table of a trained text vocabulary, and count its firings, on one GPU.

    PYTHONPATH=src python3 tools/train_query_table.py --model FOLDER --text wiki-paragraphs.txt.xz \
        --collections FOLDER --vocabulary src/zipfian/models/text-16k --work WORK --out OUT

A table has a row of terms for every word piece and, optionally, for frequent pairs of neighbouring pieces. Rows start
as mean activations over the training text; they are then fitted so that the sum of the rows of a short stretch of the
training text resembles what the encoder makes of that stretch. The test collections only choose (even queries) and
report (odd ones); no row is fitted to them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from training.codes import by_item, codes_of
from training.plan import Clock
from training.ranking import Scoring, idf, impacts, stored
from training.rows import Rows, fit, mean_rows, pairs_of, units_of
from training.text import load_corpus, load_tests
from training.text_encoder import MiniLM, hidden_states, random_spans
from training.text_statistics import VOCABULARY, PieceTable, save_statistics
from training.text_uses import Test, joined, measure

from zipfian.train.model import TopKSae
from zipfian.train.sae import TrainResult
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource
from zipfian.vocabulary._sae_weights import load_weights

K = 4
K_POST = 370
SCORING = Scoring(4.0, 0.7, 0.65)
FIRINGS = 100


def load_result(folder: Path, device: str) -> TrainResult:
    weights, _, _ = load_weights(folder)
    settings = SaeSettings(width=weights.n_terms, k=weights.k)
    sae = TopKSae(weights.dim, settings, device)
    sae.encoder.copy_(torch.from_numpy(weights.encoder))
    sae.bias.copy_(torch.from_numpy(weights.bias))
    return TrainResult(sae, torch.from_numpy(weights.mu).to(device), weights.scale, settings)


class Judge:
    """The collections, indexed once at the shipped setting."""

    def __init__(self, result: TrainResult, tests: list[Test]) -> None:
        self.tests, self.width = tests, result.settings.width
        self.weights, self.asked = [], []
        for test in tests:
            documents, asked = (
                by_item(codes_of(result, joined(states, "l1"), K), pieces.indptr).pooled(K, self.width)
                for states, pieces in (
                    (test.documents, test.collection.documents),
                    (test.queries, test.collection.queries),
                )
            )
            self.weights.append(impacts(stored(documents, K_POST), SCORING))
            self.asked.append(asked)

    def score(self, name: str, queries: list[torch.Tensor]) -> dict[str, Any]:
        by = {
            test.collection.name: measure(asked, weights, test.collection, SCORING)
            for test, asked, weights in zip(self.tests, queries, self.weights, strict=True)
        }
        row: dict[str, Any] = {"name": name, "by": by}
        return row | {half: float(np.mean([s[half] for s in by.values()])) for half in ("even", "odd", "all")}

    def table(self, name: str, rows: Rows) -> dict[str, Any]:
        """Queries from rows rounded as they are stored."""
        values = rows.values.half().float()
        queries = []
        for test in self.tests:
            units = units_of(test.collection.queries, rows.pairs, VOCABULARY)
            found = torch.from_numpy(units.ids.astype(np.int64)).to(values.device)
            codes = by_item((values[found], rows.terms[found]), units.indptr)
            queries.append(codes.pooled(values.shape[1], self.width))
        return self.score(name, queries)


def show(row: dict[str, Any], clock: Clock) -> None:
    by = " ".join(f"{name} {s['all']:.4f}" for name, s in row["by"].items())
    clock.say(f"{row['name']:<26} even {row['even']:.4f} odd {row['odd']:.4f} all {row['all']:.4f} | {by}")


def run(args: argparse.Namespace) -> None:
    from safetensors.numpy import save_file

    clock = Clock(1e9)
    cuda = args.device.startswith("cuda")
    for folder in (args.out, args.work):
        folder.mkdir(parents=True, exist_ok=True)
    result = load_result(args.vocabulary, args.device)
    width = result.settings.width
    model = MiniLM(args.model, args.device, torch.float16 if cuda else torch.float32)
    corpus = load_corpus(args, model, clock)
    corpus.states.pop(-2)
    corpus.span_states.clear()
    codes = codes_of(result, MemorySource(corpus.states[-1]), K)
    clock.say("coded")
    table = PieceTable.of(corpus.pieces, codes, width, K)
    save_statistics(codes, corpus.pieces, table, args.out / "statistics.safetensors", K, FIRINGS, {})
    del table
    clock.say("statistics")
    judge = Judge(result, load_tests(args, clock))
    tried = [judge.score("encoder", judge.asked)]
    show(tried[-1], clock)
    df = by_item(codes, corpus.pieces.indptr).df(K, width)
    worth = idf(df.float(), len(corpus.pieces.indptr) - 1)
    spans = []
    for seed in range(args.span_seeds):
        part = random_spans(corpus.pieces, seed=100 + seed, low=2, high=18)
        states, _ = hidden_states(model, part, (-1,), batch_tokens=args.batch_tokens)
        values, terms = codes_of(result, MemorySource(states[0]), K, precision="tf32")
        spans.append((part, values, terms))
    clock.say(f"{args.span_seeds} x {len(spans[0][0].indptr) - 1:,} spans coded")
    pairs = {0: np.zeros(0, np.int64)} | {
        count: pairs_of(corpus.pieces, args.model / "tokenizer.json", count) for count in args.pairs
    }
    kept: dict[str, Rows] = {}
    for count, chosen in pairs.items():
        for name, rows in mean_rows(corpus.pieces, codes, spans, chosen, VOCABULARY, width, 64).items():
            for size in (8, 16, 32):
                label = f"{name}-r{size}" + (f"-pairs{count}" if count else "")
                kept[label] = rows.cut(size, None)
                tried.append(judge.table(label, kept[label]))
                show(tried[-1], clock)
            if name != "both":
                continue
            for size, by_idf, first in ((16, True, True), (16, False, True), (16, True, False), (32, True, True)):
                narrow = rows.cut(size, None)
                if first:  # choose the terms of a row by their fitted weights
                    wide = fit(rows, spans, worth, VOCABULARY, power=SCORING.power, by_idf=by_idf, epochs=1.0)
                    narrow = wide.cut(size, worth if by_idf else None)
                fitted = fit(narrow, spans, worth, VOCABULARY, power=SCORING.power, by_idf=by_idf, epochs=2.0)
                label = f"fitted-{'idf' if by_idf else 'flat'}{'' if first else '-late'}-r{size}" + (
                    f"-pairs{count}" if count else ""
                )
                for share in (1.0, 0.5, 0.25):
                    kept[f"{label}-{share:g}"] = fitted.between(share).cut(size, None)
                    tried.append(judge.table(f"{label}-{share:g}", kept[f"{label}-{share:g}"]))
                    show(tried[-1], clock)
    best = max((row for row in tried if row["name"] in kept), key=lambda row: row["even"])
    names = {best["name"]}
    for wanted in ("fitted", "mean"):
        for paired in (True, False):
            few = [r for r in tried if r["name"].startswith(wanted) and ("pairs" in r["name"]) == paired]
            few = [r for r in few if "r16" in r["name"]]
            names |= {max(few, key=lambda r: r["even"])["name"]} if few else set()
    for name in sorted(names)[:6]:
        rows = kept[name]
        tensors = {
            "terms": rows.terms.cpu().numpy().astype(np.int16),
            "weights": rows.values.cpu().numpy().astype(np.float16),
            "pairs": np.stack([rows.pairs >> 16, rows.pairs & 0xFFFF], axis=1).astype(np.uint16),
        }
        save_file(tensors, args.out / f"table-{name}.safetensors")
    (args.out / "table-trials.json").write_text(json.dumps({"best": best["name"], "rows": tried}))
    clock.say(f"best on even queries: {best['name']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--collections", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch-tokens", type=int, default=131_072)
    parser.add_argument("--span-seeds", type=int, default=6)
    parser.add_argument("--pairs", type=lambda text: [int(part) for part in text.split(",")], default=[16_384, 32_768])
    parser.add_argument("--limit", type=int, help="paragraphs to read")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    args = parser.parse_args()
    if args.tiny:
        args.limit, args.batch_tokens, args.span_seeds, args.pairs = 60, 4_096, 1, [64]
    with torch.no_grad():
        run(args)


if __name__ == "__main__":
    main()
