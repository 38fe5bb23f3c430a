"""Vocabularies of texts: paragraphs and short stretches of them, tested on collections of queries."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from texts import read_lines

from training.codes import codes_of
from training.pipeline import Data, Item, Kind, Rows, pack
from training.plan import Clock, planned
from training.ranking import ndcg, ranking
from training.text_encoder import MiniLM, Pieces, hidden_states, random_spans, read_collection, tokenise
from training.text_statistics import Tables, make_tables, save_statistics
from training.text_uses import (
    JOINED,
    K_MAX,
    PLAIN,
    POSTINGS_LIMIT,
    Test,
    best_even,
    by_table,
    evaluate,
    joined,
    show,
    table_line,
)  # fmt: skip
from zipfian.train.sae import TrainResult, train_sae
from zipfian.train.settings import SaeSettings

LAYERS = (-2, -1)
HELD_OUT = 65_536
STATISTICS_K = 8
LARGE = 16 * 2**20
"""Bytes above which an archive is awkward to bring back."""


class Corpus(NamedTuple):
    """Training text on the device."""

    pieces: Pieces
    states: dict[int, torch.Tensor]
    spans: Pieces
    span_states: dict[int, torch.Tensor]
    sha256: str


def read_pieces(args: argparse.Namespace, clock: Clock) -> tuple[Pieces, str]:
    """Word pieces of the training text, kept between runs, and the text's sha256."""
    sha256 = hashlib.sha256(args.text.read_bytes()).hexdigest()
    cache = args.work / f"pieces-{sha256[:12]}-{args.limit or 'all'}.npz"
    if cache.exists():
        with np.load(cache) as kept:
            pieces = Pieces(kept["ids"], kept["indptr"])
    else:
        texts = read_lines(args.text, args.limit)
        clock.say(f"{len(texts):,} paragraphs read")
        pieces = tokenise(args.model / "tokenizer.json", texts)
        np.savez(cache, ids=pieces.ids, indptr=pieces.indptr)
    clock.say(f"{len(pieces.ids):,} word pieces")
    return pieces, sha256


def load_corpus(args: argparse.Namespace, model: MiniLM, clock: Clock) -> Corpus:
    """The text and one stretch of every paragraph, encoded."""
    pieces, sha256 = read_pieces(args, clock)
    spans = random_spans(pieces, seed=7)
    states, span_states = (
        dict(zip(LAYERS, hidden_states(model, part, LAYERS, batch_tokens=args.batch_tokens)[0], strict=True))
        for part in (pieces, spans)
    )
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    norms = " ".join(f"{float(state[:100_000].float().norm(dim=1).mean()):.2f}" for state in states.values())
    clock.say(f"encoded; mean norms of layers {LAYERS}: {norms}; {len(spans.ids):,} span pieces")
    return Corpus(pieces, states, spans, span_states, sha256)


def load_tests(args: argparse.Namespace, clock: Clock) -> list[Test]:
    """Every collection of a folder, encoded in full precision."""
    if args.collections is None:
        return []
    model = MiniLM(args.model, args.device, torch.float32)
    found = []
    for folder in sorted(path.parent for path in args.collections.glob("*/corpus.jsonl")):
        collection = read_collection(folder, args.model / "tokenizer.json", 200 if args.tiny else None)
        (documents, pooled), (queries, asked) = (
            hidden_states(
                model, pieces, LAYERS, store=torch.float32, batch_tokens=args.batch_tokens, pooled=True
            )
            for pieces in (collection.documents, collection.queries)
        )  # fmt: skip
        if pooled is not None and asked is not None:
            dense = ndcg(ranking(asked @ pooled.T + 2.0), collection.relevant).mean()
            clock.say(
                f"{collection.name}: {len(pooled)} documents of {len(collection.documents.ids) / len(pooled):.0f} "
                f"pieces, {len(asked)} queries, dense nDCG@10 {dense:.4f}"
            )
        states = (dict(zip(LAYERS, part, strict=True)) for part in (documents, queries))
        found.append(Test(collection, *states))
    return found


def _way(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["documents"], row["queries"], row["scoring"]


class Texts(Kind):
    """Names of a plan: `LAYERS-kK-sSEED[-eEPOCHS][-wWIDTH][-bBATCH][-lrX][-noaux]`, such as `cat-k16-s0-e6`."""

    PLAN = (
        "l1-k16-s0", "cat-k16-s0", "l2-k16-s0", "l1-k8-s0", "l1-k32-s0", "cat-k8-s0", "cat-k32-s0",
        "l1-k16-s1", "l1-k16-s2", "cat-k16-s1", "cat-k16-s2", "l1-k16-s0-e1", "l1-k16-s0-e6", "l1-k16-s0-w8192",
        "l1-k16-s0-noaux", "l1-k4-s0",
    )  # fmt: skip
    TINY_PLAN = ("l1-k16-s0", "cat-k8-s1")
    DEFAULTS = {"width": 16_384, "epochs": 3.0, "dead_after": 1_000_000}  # noqa: RUF012
    TINY = {  # noqa: RUF012
        "width": 512, "batch": 512, "epochs": 2.0, "limit": 400, "batch_tokens": 8_192, "dead_after": 20_000,
    }  # fmt: skip
    HELD_OUT_KS = (16, 8, 4)
    REPORT_EVERY = 500

    corpus: Corpus
    tests: list[Test]
    codes: tuple[Any, Any]
    tables: Tables

    def __init__(self, args: argparse.Namespace, clock: Clock) -> None:
        super().__init__(args, clock)
        self.metrics: dict[str, Any] = {}
        self.rows: Rows = []

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        """Declare what only texts take."""
        parser.add_argument("--model", type=Path, required=True)
        parser.add_argument("--text", type=Path, required=True)
        parser.add_argument("--collections", type=Path)
        parser.add_argument("--batch-tokens", type=int, default=131_072)
        parser.add_argument("--firings", type=int, default=100)
        parser.add_argument("--bench", action="store_true", help="milliseconds per step by precision, first")
        parser.add_argument("--grid", action="store_true", help="also try k1 and powers")
        parser.add_argument("--exact", action="store_true", help="also measure float32 weights")

    def load(self, base: SaeSettings) -> None:
        """The training text and all collections."""
        cuda = self.args.device.startswith("cuda")
        model = MiniLM(self.args.model, self.args.device, torch.float16 if cuda else torch.float32)
        self.corpus = load_corpus(self.args, model, self.clock)
        self.tests = load_tests(self.args, self.clock)
        if self.args.bench:
            self._bench(base)

    def _bench(self, base: SaeSettings) -> None:
        """Milliseconds per step by precision: 60 steps each."""
        rows = min(len(self.corpus.pieces.ids), max(base.batch * 60, 4 * base.width))
        for layers in ("l1", "cat"):
            source = joined({layer: state[:rows] for layer, state in self.corpus.states.items()}, layers)
            for precision in ("tf32", "bf16"):
                found = train_sae(source, replace(base, precision=precision, epochs=1.0), device=self.args.device)
                each = 1e3 * found.metrics["seconds"] / found.metrics["steps"]
                self.clock.say(f"bench {layers} {precision}: {each:.2f} ms a step")

    def item(self, name: str, base: SaeSettings) -> Item:
        """The layers come first."""
        layers, *parts = name.split("-")
        return Item(name, planned(parts, base), layers)

    def data(self, item: Item) -> Data:
        """The last tokens of the text are held out."""
        held = min(HELD_OUT, len(self.corpus.pieces.ids) // 10)
        n = len(self.corpus.pieces.ids) - held
        states = self.corpus.states
        source = joined({layer: state[:n] for layer, state in states.items()}, item.how)
        rest = joined({layer: state[n:] for layer, state in states.items()}, item.how)
        return Data(source, rest.take(torch.arange(held), self.args.device))

    def exactly(self, result: TrainResult, item: Item) -> Rows | None:
        """All variants with float32 weights, where asked for."""
        return self._evaluated(result, item, None, grid=False) if self.args.exact else None

    def _evaluated(self, result: TrainResult, item: Item, tables: Tables | None, *, grid: bool) -> Rows:
        return evaluate(result, item.name, item.how, self.tests, tables, grid=grid)

    def evaluate(self, result: TrainResult, item: Item, exact: Rows | None) -> Rows:
        """Queries through the encoder and through tables."""
        corpus = self.corpus
        self.codes, spans = (
            codes_of(result, joined(states, item.how), K_MAX, precision="tf32")
            for states in (corpus.states, corpus.span_states)
        )
        self.tables = make_tables((corpus.pieces, self.codes), (corpus.spans, spans), item.settings.width, K_MAX)
        rows = self._evaluated(result, item, self.tables, grid=self.args.grid)
        if exact is not None:
            after = {_way(row): row["all"] for row in rows}
            change = [after[_way(row)] - row["all"] for row in exact]
            result.metrics["int8_minus_float32_ndcg"] = [float(np.min(change)), float(np.max(change))]
            self.clock.say(f"int8 against float32, nDCG@10 by variant: {min(change):+.4f} to {max(change):+.4f}")
        show(rows, self.clock.say)
        return rows

    def info(self, item: Item, rows: Rows) -> dict[str, Any]:
        """With the retrieval of the usual variants."""
        columns = ("documents", "queries", "even", "odd", "all", "scifact_postings")
        return {
            "name": item.name,
            "encoder": "all-MiniLM-L6-v2",
            "layers": JOINED[item.how],
            "data": "wiki-paragraphs.txt.xz",
            "data_sha256": self.corpus.sha256,
            "retrieval": [
                {key: row[key] for key in columns}
                for row in rows
                if row["scoring"] == PLAIN and row["queries"] in (row["documents"], "text16r8", "both16r8")
            ],
        }

    def keep(self, result: TrainResult, item: Item, folder: Path) -> None:
        """Query tables, firings and piece histograms, of what is worth it."""
        if item.name not in self.args.keep and (self.args.keep or not item.name.endswith("-s0")):
            return
        extra = {}
        for name in ("text16", "both16"):
            terms, values = self.tables.rows[name]
            extra[f"query_{name}_terms"] = terms.cpu().numpy().astype(np.uint16)
            extra[f"query_{name}_weights"] = values.cpu().numpy().astype(np.float16)
        target = folder / "statistics.safetensors"
        table = self.tables.pieces
        save_statistics(self.codes, self.corpus.pieces, table, target, STATISTICS_K, self.args.firings, extra)

    def write(self, item: Item, result: TrainResult, rows: Rows) -> None:
        """metrics.json"""
        self.metrics[item.name] = result.metrics
        self.rows += rows
        summary = {"metrics": self.metrics, "rows": self.rows, "data_sha256": self.corpus.sha256}
        (self.args.out / "metrics.json").write_text(json.dumps(summary))

    def finish(self) -> None:
        """The tables to decide from, and the vocabularies that travel back."""
        print(f"\n{'name':<18}{'fvu':>8}{'k8':>8}{'k4':>8}{'int8':>8}{'l0':>6}{'dead':>8}{'seconds':>9}")
        for name, m in self.metrics.items():
            print(
                f"{name:<18}{m['held_out']['fvu']:8.4f}{m['held_out_fvu_k8']:8.4f}{m['held_out_fvu_k4']:8.4f}"
                f"{m['held_out_int8']['fvu']:8.4f}{m['held_out']['l0']:6.1f}{m['train']['dead']:8.4f}{m['seconds']:9.1f}"
            )
        few = [row for row in self.rows if row["scifact_postings"] <= POSTINGS_LIMIT and row["scoring"] == PLAIN]
        for table in (False, True):
            asking = "table" if table else "encoder"
            print(f"\nbest at <= {POSTINGS_LIMIT:.0f} postings by even queries, {asking} queries")
            for row in best_even([row for row in few if by_table(row) == table], 14):
                print(table_line(row))
        keep = self.args.keep or list(dict.fromkeys(row["name"] for row in best_even(few, len(few))))[:2]
        total = 0
        for name in keep:
            for target, names in (
                (f"{name}.tar", ["sae.safetensors", "sae.json", "README.md", "history.json"]),
                (f"{name}-statistics.tar", ["statistics.safetensors"]),
            ):
                if (self.args.work / name / names[0]).exists():
                    size = pack(self.args.work / name, self.args.out / target, names)
                    total += size
                    print(f"{target}: {size / 2**20:.1f} MiB" + (" (over 16 MiB)" if size > LARGE else ""))
        self.clock.say(f"done; {total / 2**20:.1f} MiB of vocabularies in {self.args.out}")
