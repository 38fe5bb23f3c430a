"""Vocabularies of pictures: patches of whole, mirrored and cut-out views, tested on pictures with classes."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from training.codes import of_pictures
from training.image_encoder import (
    Lite2,
    Pictures,
    held_out,
    patch_matrix,
    precision,
    read_pictures,
    view_of,
    whole_patches,
)  # fmt: skip
from training.image_statistics import picture_terms, statistics
from training.image_uses import FIRST, K_MAX, Bench, best_rows, evaluate, front, line, load_bench, measure
from training.pipeline import Data, Item, Kind, Rows, pack, words
from training.plan import Clock, planned
from training.ranking import stored
from zipfian.train._torch import matmul_precision
from zipfian.train.sae import TrainResult
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

LOWEST_SHARE = (0.5, 0.25, 0.12)
"""Smallest share of a picture that the random views show, taken in turn."""


class Corpus(NamedTuple):
    """Patches of the training pictures: (views, pictures, cells, 1280), and of pictures held out (first view)."""

    patches: torch.Tensor
    held_out: torch.Tensor
    whole: torch.Tensor
    sha256: str
    pictures: int


def load_corpus(args: argparse.Namespace, net: Lite2, clock: Clock) -> Corpus:
    """All views of all folders."""
    known = hashlib.sha256()
    sets = [read_pictures(folder, small=True, limit=args.limit) for folder in args.images]
    for folder, pictures in zip(args.images, sets, strict=True):
        for name in pictures.names:
            known.update(f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n".encode())
    small = [pictures.small for pictures in sets if pictures.small is not None]
    joined = Pictures([], np.concatenate([p.whole for p in sets]), np.concatenate(small))
    del sets, small
    n = len(joined.whole)
    clock.say(f"{n:,} training pictures decoded")
    held = held_out(n, net.device)
    parts = []
    for view in range(args.views):
        low = LOWEST_SHARE[view % len(LOWEST_SHARE)]
        with precision("float32" if view == 0 else "tf32", net.device):
            source = view_of(joined, view, net.device, args.picture_batch, low)
            patches, _ = patch_matrix(net, source, n, torch.float16)
        if view == 0:
            whole = patches
        parts.append(patches[~held])
        clock.say(f"view {view}: mean square {float(parts[-1][:100].float().square().mean()):.4f}")
    if not parts:
        raise SystemExit("at least one view is needed")
    return Corpus(torch.stack(parts), whole[held].flatten(0, 1).float(), whole, known.hexdigest(), n)


class Images(Kind):
    """Names of a plan: `kK-sSEED[-eEPOCHS][-wWIDTH][-bBATCH][-lrX][-vVIEWS][-noaux]`; lr in steps of 1e-4."""

    PLAN = TINY_PLAN = ("k16-s0", "k16-s1", "k16-s2")
    DEFAULTS = {"width": 11_520, "epochs": 18.0, "dead_after": 500_000}  # noqa: RUF012
    TINY = {  # noqa: RUF012
        "width": 256, "batch": 256, "epochs": 1.0, "limit": 12, "views": 3, "dead_after": 20_000, "picture_batch": 8,
    }  # fmt: skip
    HELD_OUT_KS = (32, 16, 8, 4)
    REPORT_EVERY = 250

    net: Lite2
    bench: Bench
    corpus: Corpus

    def __init__(self, args: argparse.Namespace, clock: Clock) -> None:
        super().__init__(args, clock)
        self.trials: dict[str, Any] = {}

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        """Declare what only pictures take."""
        parser.add_argument("--weights", type=Path, required=True)
        parser.add_argument("--images", type=Path, action="append", required=True, help="a folder to train on; repeat")
        parser.add_argument("--test", type=Path, required=True)
        parser.add_argument("--code", type=Path, action="append", default=[], help="keep its terms; repeat")
        parser.add_argument("--code-k", type=int, default=16)
        parser.add_argument("--both-pools", type=words, default=("k16-s0",))
        parser.add_argument("--views", type=int, default=1, help="1: whole; 2: mirrored too; more: random cuts")
        parser.add_argument("--picture-batch", type=int, default=128)

    def load(self, base: SaeSettings) -> None:
        """The pictures to measure on, then those to train on."""
        self.net = Lite2(self.args.weights, self.args.device)
        self.bench = load_bench(self.args.test, self.net, self.args.picture_batch, self.args.limit)
        self.clock.say(self.bench.said)
        self.corpus = load_corpus(self.args, self.net, self.clock)

    def item(self, name: str, base: SaeSettings) -> Item:
        """A part `vN` says how many views."""
        parts = name.split("-")
        views = [int(part[1:]) for part in parts if part.startswith("v")]
        settings = planned([part for part in parts if not part.startswith("v")], base)
        return Item(name, settings, views[-1] if views else self.args.views)

    def data(self, item: Item) -> Data:
        """The patches of as many views as the plan says."""
        return Data(MemorySource(self.corpus.patches[: item.how].flatten(0, 2)), self.corpus.held_out)

    def exactly(self, result: TrainResult, item: Item) -> float:
        """R@1 at k=8, no cap."""
        k, width = min(8, result.settings.width), result.settings.width
        documents, asked = (
            stored(of_pictures(result, side, k).pooled(k, width)) for side in (self.bench.gallery, self.bench.queries)
        )
        return float(measure(asked, documents, FIRST[0], self.bench.test)["r1"]["all"])

    def evaluate(self, result: TrainResult, item: Item, exact: float) -> Rows:
        """Every pooling, cap and scoring."""
        change = self.exactly(result, item) - exact
        result.metrics["int8_minus_float32_r1"] = change
        gallery, queries = (of_pictures(result, side, K_MAX) for side in (self.bench.gallery, self.bench.queries))
        pools = ("max", "sum") if item.name in self.args.both_pools else ("max",)
        with matmul_precision("tf32", self.args.device):
            rows = list(evaluate(gallery, queries, self.bench.test, item.settings.width, pools=pools))
        m = result.metrics
        self.clock.say(
            f"{item.name}: fvu {m['held_out']['fvu']:.4f} int8 {m['held_out_int8']['fvu']:.4f} "
            f"k8 {m['held_out_fvu_k8']:.4f} k4 {m['held_out_fvu_k4']:.4f} dead {m['train']['dead']:.4f}; "
            f"int8 changes r@1 by {change:+.4f}"
        )
        for row in best_rows(rows) + front(rows):
            print("   ", line(row), flush=True)
        return rows

    def info(self, item: Item, rows: Rows) -> dict[str, Any]:
        """Where it comes from."""
        sha256 = self.corpus.sha256
        return {"name": item.name, "encoder": "efficientnet-lite2", "data_sha256": sha256, "views": item.how}

    def keep(self, result: TrainResult, item: Item, folder: Path) -> None:
        """Counts over the training pictures, and the terms of other folders."""
        width = item.settings.width
        statistics(of_pictures(result, self.corpus.whole, K_MAX), width, folder)
        for source in self.args.code if item.name in self.args.keep else ():
            pictures = read_pictures(source, small=False, limit=self.args.limit)
            patches, _ = whole_patches(self.net, pictures, self.args.picture_batch)
            target = self.args.out / f"{item.name}-{source.name}-terms.safetensors"
            picture_terms(of_pictures(result, patches, K_MAX), pictures.names, width, self.args.code_k, target)

    def write(self, item: Item, result: TrainResult, rows: Rows) -> None:
        """trials.json.gz"""
        self.trials[item.name] = {"settings": item.settings.to_json(), "metrics": result.metrics, "rows": rows}
        whole = {"data_sha256": self.corpus.sha256, "pictures": self.corpus.pictures, "items": self.trials}
        with gzip.open(self.args.out / "trials.json.gz", "wt", encoding="utf-8") as stream:
            json.dump(whole, stream)

    def finish(self) -> None:
        """The vocabularies that travel back."""
        for name in self.args.keep:
            if (self.args.work / name).exists():
                target = self.args.out / f"{name}.tar"
                self.clock.say(f"{target.name}: {pack(self.args.work / name, target) / 2**20:.2f} MiB")
        if self.args.tiny:
            shutil.rmtree(self.args.work)
        self.clock.say("done")
