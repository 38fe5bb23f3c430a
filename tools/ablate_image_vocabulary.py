"""Image vocabularies trained at several k, widths and layers, measured alike on one GPU.

    PYTHONPATH=src python3 tools/ablate_image_vocabulary.py --weights model.safetensors --images FOLDER \
        --images FOLDER --test FOLDER --out OUT --plan head:k16:w5120:s0,block20:k16:w5120:s0

Needs torch, safetensors, Pillow and numpy. `head` is the map of the last convolution, `blockN` that of a block before
it. Each vocabulary is written as a folder that `Visual(FOLDER)` reads, so that `python -m experiments
bm25v-table3`
and `bm25v-ablation` can measure it again through the package; `ablation.json` holds what was measured here.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from training.codes import of_pictures
from training.image_encoder import Lite2, Pictures, held_out, read_pictures, whole_patches
from training.image_plan import Item, described
from training.image_uses import Test, load_bench, measure, recalls
from training.plan import Clock
from training.ranking import Scoring, halves, stored

from zipfian.train._torch import matmul_precision
from zipfian.train.export import save_vocabulary
from zipfian.train.sae import TrainResult, train_sae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

USES = (
    ("published", "sum", 16, Scoring(1.5, 0.75, 1.0)),
    ("default", "max", 96, Scoring(8.0, 0.7, 1.0)),
    ("unpruned", "sum", None, Scoring(1.5, 0.75, 1.0)),
    ("unpruned max", "max", None, Scoring(8.0, 0.7, 1.0)),
)
"""Name, pooling, terms kept per picture, scoring."""


class Layer(NamedTuple):
    """Everything of one layer: patches to train on, held-out ones, and both sides of the test."""

    train: torch.Tensor
    held: torch.Tensor
    gallery: torch.Tensor
    queries: torch.Tensor


def load_layer(net: Lite2, train: Pictures, sides: list[Pictures], batch: int) -> Layer:
    """The patches of all pictures in one layer."""
    patches, _ = whole_patches(net, train, batch, torch.float16)
    gallery, queries = (whole_patches(net, side, batch)[0] for side in sides)
    held = held_out(len(train.whole), net.device)
    return Layer(patches[~held].flatten(0, 1), patches[held].flatten(0, 1).float(), gallery, queries)


def pooled(result: TrainResult, patches: torch.Tensor, k: int, how: str, block: int = 64) -> torch.Tensor:
    """Pictures x terms, in blocks: at k=128 the strongest terms of all patches would not be worth keeping."""
    parts = (patches[start : start + block] for start in range(0, len(patches), block))
    return torch.cat([of_pictures(result, part, k).pooled(k, result.settings.width, how) for part in parts])


def measured(result: TrainResult, layer: Layer, test: Test) -> dict[str, Any]:
    """Every use by name."""
    rows: dict[str, Any] = {}
    for how in ("sum", "max"):
        both = [pooled(result, side, result.settings.k, how) for side in (layer.gallery, layer.queries)]
        for name, pooling, k_post, scoring in USES:
            if pooling == how:
                documents, asked = (stored(weights, k_post) for weights in both)
                with matmul_precision("tf32", documents.device):
                    rows[name] = measure(asked, documents, scoring, test)
    return rows


def run(args: argparse.Namespace) -> None:
    clock = Clock(0.0)
    sets = [read_pictures(folder, small=False, limit=args.limit) for folder in args.images]
    train = Pictures([name for part in sets for name in part.names], np.concatenate([p.whole for p in sets]), None)
    sides = [read_pictures(args.test / part, small=False, limit=args.limit) for part in ("gallery", "query")]
    clock.say(f"{len(train.whole):,} training pictures")
    bench = load_bench(args.test, Lite2(args.weights, args.device), args.batch, args.limit)
    test = bench.test
    clock.say(bench.said)
    del bench
    dense = halves(recalls(test.dense, test)[1], test.even)
    found: dict[str, Any] = {"dense": dense, "items": {}}
    layer: Layer | None = None
    for item in sorted(args.plan, key=lambda item: -1 if item.block is None else item.block):
        net = Lite2(args.weights, args.device, item.block)
        if layer is None or layer.train.shape[1] != net.channels:
            layer = None
            layer = load_layer(net, train, sides, args.batch)
            clock.say(f"layer {item.block}: {net.cells} cells of {net.channels}")
        rows = len(layer.train)
        settings = SaeSettings(
            width=item.width, k=item.k, seed=item.seed, batch=8_192, dead_after=500_000,
            epochs=args.tokens / rows if args.tokens else 18.0,
        )  # fmt: skip
        result = train_sae(MemorySource(layer.train), settings, device=args.device, held_out=layer.held)
        uses = measured(result, layer, test)
        found["items"][item.name] = {
            "block": item.block, "k": item.k, "width": item.width, "seed": item.seed, "channels": net.channels,
            "cells": net.cells, "metrics": result.metrics, "uses": uses,
        }  # fmt: skip
        for name, row in uses.items():
            clock.say(
                f"{item.name} {name}: r1 {row['r1']['all']:.4f} odd {row['r1']['odd']:.4f} {row['postings']:.0f}p"
            )
        (args.out / "ablation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        if item.seed == 0:
            info = {"name": item.name, "encoder": described(item.block, net.channels)}
            save_vocabulary(result, args.out / item.name, info=info)
    clock.say("done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--images", type=Path, action="append", required=True, help="a folder to train on; repeat")
    parser.add_argument("--test", type=Path, required=True, help="holds gallery/CLASS/* and query/CLASS/*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plan", type=lambda text: [Item.parse(part) for part in text.split(",")], required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=128, help="pictures that go through the encoder together")
    parser.add_argument("--tokens", type=float, help="patches to train on in all; by default 18 passes")
    parser.add_argument("--limit", type=int, help="about this many pictures of each folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    run(args)


if __name__ == "__main__":
    main()
