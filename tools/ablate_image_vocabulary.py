"""Image vocabularies trained at several k, widths and layers, measured alike on one GPU.

    PYTHONPATH=src python3 tools/ablate_image_vocabulary.py --weights model.safetensors --images FOLDER \
        --images FOLDER --test FOLDER --out OUT --plan head:k16:w5120:s0,block20:k16:w5120:s0

Needs torch, safetensors, Pillow and numpy. `head` is the map of the last convolution, `blockN` that of a block before
it. Each vocabulary is written as a folder that `Leg.visual(FOLDER)` reads, so that `python -m experiments bm25v-table3`
and `bm25v-ablation` can measure it again through the package; `ablation.json` holds what was measured here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from train_image_encode import Lite2, Pictures, patch_matrix, read_pictures, whole_views
from train_image_eval import Codes, Scoring, Test, even, halves, impacts, measure, recalls, stored

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

HOLD_EVERY = 50


class Item(NamedTuple):
    """One training: `head:k16:w5120:s0`."""

    name: str
    block: int | None
    k: int
    width: int
    seed: int

    @classmethod
    def parse(cls, text: str) -> Item:
        layer, *numbers = text.split(":")
        found = {part[0]: int(part[1:]) for part in numbers}
        block = None if layer == "head" else int(layer.removeprefix("block"))
        return cls(text.replace(":", "-"), block, found["k"], found["w"], found.get("s", 0))


class Layer(NamedTuple):
    """Everything of one layer: patches to train on, held-out ones, and both sides of the test."""

    train: torch.Tensor
    held: torch.Tensor
    gallery: torch.Tensor
    queries: torch.Tensor


def load_layer(net: Lite2, train: Pictures, sides: list[Pictures], batch: int) -> Layer:
    found = []
    with matmul_precision("float32", net.device):
        for pictures, store in ((train, torch.float16), *((side, torch.float32) for side in sides)):
            found.append(patch_matrix(net, whole_views(pictures, net.device, batch), len(pictures.whole), store)[0])
    held = torch.arange(len(train.whole), device=net.device) % min(HOLD_EVERY, max(2, len(train.whole) // 4)) == 1
    return Layer(found[0][~held].flatten(0, 1), found[0][held].flatten(0, 1).float(), found[1], found[2])


@torch.no_grad()
def pooled(result: TrainResult, patches: torch.Tensor, k: int, how: str, block: int = 64) -> torch.Tensor:
    """Pictures x terms, in blocks: at k=128 the strongest terms of all patches would not be worth keeping."""
    out = []
    with matmul_precision("float32", patches.device):
        for start in range(0, len(patches), block):
            part = patches[start : start + block]
            values, terms = result.sae.activations(result.normalise(part.flatten(0, 1)), k)
            shape = (len(part), part.shape[1], k)
            out.append(Codes(values.view(shape), terms.view(shape).int()).pooled(k, result.settings.width, how))
    return torch.cat(out)


def measured(result: TrainResult, layer: Layer, test: Test) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for how in ("sum", "max"):
        both = [pooled(result, side, result.settings.k, how) for side in (layer.gallery, layer.queries)]
        for name, pooling, k_post, scoring in USES:
            if pooling == how:
                documents, asked = (stored(weights, k_post) for weights in both)
                with matmul_precision("tf32", documents.device):
                    row = measure(asked, impacts(documents, scoring), scoring, test)
                rows[name] = row | {"postings": float((documents > 0).sum()) / len(documents)}
    return rows


def described(block: int | None, net: Lite2) -> dict[str, Any]:
    """The encoder, as a vocabulary's settings name it."""
    from zipfian.encode.image import ImageEncoder

    encoder = ImageEncoder() if block is None else ImageEncoder(block=block)
    settings = {"size": encoder.size, "fit": encoder.fit} | ({} if block is None else {"block": block})
    return {
        "name": "efficientnet-lite2", "title": "EfficientNet-Lite2", "kind": "image", "dim": net.channels,
        "fingerprint": encoder.fingerprint, "settings": settings,
    }  # fmt: skip


def run(args: argparse.Namespace) -> None:
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:6.1f}s] {text}", flush=True)

    sets = [read_pictures(folder, small=False, limit=args.limit) for folder in args.images]
    train = Pictures([name for part in sets for name in part.names], np.concatenate([p.whole for p in sets]), None)
    sides = [read_pictures(args.test / part, small=False, limit=args.limit) for part in ("gallery", "query")]
    say(f"{len(train.whole):,} training pictures, {len(sides[0].names):,} and {len(sides[1].names):,} to test on")
    head = Lite2(args.weights, args.device)
    with matmul_precision("float32", head.device):
        vectors = [
            patch_matrix(head, whole_views(s, head.device, args.batch), len(s.names), torch.float16)[1] for s in sides
        ]
    classes = {name: i for i, name in enumerate(sorted({Path(n).parent.name for s in sides for n in s.names}))}
    labels = [torch.tensor([classes[Path(n).parent.name] for n in s.names], device=head.device) for s in sides]
    dense = vectors[1] @ vectors[0].T
    test = Test(labels[0], labels[1], dense, np.array([even(Path(n).name) for n in sides[1].names]))
    found: dict[str, Any] = {"dense": halves(recalls(dense, test)[1], test), "items": {}}
    say(f"dense R@1 {found['dense']}")
    layer: Layer | None = None
    for item in sorted(args.plan, key=lambda item: -1 if item.block is None else item.block):
        net = Lite2(args.weights, args.device, item.block)
        if layer is None or layer.train.shape[1] != net.channels:
            layer = None
            layer = load_layer(net, train, sides, args.batch)
            say(f"layer {item.block}: {net.cells} cells of {net.channels}")
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
            say(f"{item.name} {name}: r1 {row['r1']['all']:.4f} odd {row['r1']['odd']:.4f} {row['postings']:.0f}p")
        (args.out / "ablation.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        if item.seed == 0:
            info = {"name": item.name, "encoder": described(item.block, net)}
            save_vocabulary(result, args.out / item.name, info=info)
    say("done")


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
    sys.exit(main())
