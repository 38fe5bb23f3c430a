"""Train image vocabularies on one GPU and measure them, in one run that keeps everything on the device.

    PYTHONPATH=src python3 tools/train_image_vocabulary.py --weights model.safetensors --images FOLDER --images FOLDER \
        --test FOLDER --work WORK --out OUT --budget 480

Needs torch, safetensors, Pillow and numpy. `model.safetensors` is the converted EfficientNet-Lite2 that `zipfian
weights get` keeps. `--test` holds gallery/CLASS/* and query/CLASS/*: settings are chosen on the queries whose file name
has an even sha1, the odd half reports. `--tiny` rehearses all of it on a CPU.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from train_image_encode import Lite2, Pictures, cut_views, patch_matrix, read_pictures, whole_views
from train_image_eval import FIRST, K_MAX, Codes, Test, evaluate, even, front, halves, line, recalls
from train_image_report import best_rows, int8_change, picture_terms, statistics
from train_plan import Clock, planned

from zipfian.train._torch import matmul_precision
from zipfian.train.export import save_vocabulary
from zipfian.train.sae import Progress, TrainResult, reconstruction, train_sae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

PLAN = ("k16-s0", "k16-s1", "k16-s2")
LOWEST_SHARE = (0.5, 0.25, 0.12)
"""Smallest share of a picture that the random views show, taken in turn."""
HOLD_EVERY = 50


class Item(NamedTuple):
    """One training of the plan."""

    name: str
    settings: SaeSettings
    views: int


class Corpus(NamedTuple):
    """Patches of the training pictures: (views, pictures, cells, 1280), and of pictures held out (first view)."""

    patches: torch.Tensor
    held_out: torch.Tensor
    whole: torch.Tensor
    sha256: str
    pictures: int


class Bench(NamedTuple):
    """Pictures to measure on."""

    test: Test
    gallery: torch.Tensor
    queries: torch.Tensor


def plan_item(name: str, base: SaeSettings, views: int) -> Item:
    """`kK-sSEED[-eEPOCHS][-wWIDTH][-bBATCH][-lrX][-vVIEWS][-noaux]`; lr in steps of 1e-4."""
    parts = name.split("-")
    for part in parts:
        if part.startswith("v"):
            views = int(part[1:])
    return Item(name, planned([part for part in parts if not part.startswith("v")], base), views)


def load_corpus(args: argparse.Namespace, net: Lite2, clock: Clock) -> Corpus:
    known = hashlib.sha256()
    sets = [read_pictures(folder, small=True, limit=args.limit) for folder in args.images]
    for folder, pictures in zip(args.images, sets, strict=True):
        for name in pictures.names:
            known.update(f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n".encode())
    small = [pictures.small for pictures in sets if pictures.small is not None]
    joined = Pictures([], np.concatenate([p.whole for p in sets]), np.concatenate(small))
    del sets, small
    clock.say(f"{len(joined.whole):,} training pictures decoded")
    n = len(joined.whole)
    held = torch.arange(n) % min(HOLD_EVERY, max(2, n // 4)) == 1
    keep = ~held
    parts, held_out = [], None
    for view in range(args.views):
        exact = "float32" if view == 0 else "tf32"
        with matmul_precision(exact, net.device):
            torch.backends.cudnn.allow_tf32 = view > 0
            if view == 0:
                source = whole_views(joined, net.device, args.picture_batch)
            elif view == 1:
                source = (x.flip(3) for x in whole_views(joined, net.device, args.picture_batch))
            else:
                low = LOWEST_SHARE[view % len(LOWEST_SHARE)]
                source = cut_views(joined, net.device, args.picture_batch, view, low)
            patches, _ = patch_matrix(net, source, n, torch.float16)
        if view == 0:
            held_out = patches[held.to(patches.device)].flatten(0, 1).float()
            whole = patches
        parts.append(patches[keep.to(patches.device)])
        clock.say(f"view {view}: mean square {float(parts[-1][:100].float().square().mean()):.4f}")
    torch.backends.cudnn.allow_tf32 = False
    if held_out is None:
        raise SystemExit("at least one view is needed")
    return Corpus(torch.stack(parts), held_out, whole, known.hexdigest(), n)


def load_bench(args: argparse.Namespace, net: Lite2, clock: Clock) -> Bench:
    sides = []
    for part in ("gallery", "query"):
        pictures = read_pictures(args.test / part, small=False, limit=args.limit)
        with matmul_precision("float32", net.device):
            patches, pooled = patch_matrix(
                net, whole_views(pictures, net.device, args.picture_batch), len(pictures.names), torch.float32
            )
        sides.append((pictures.names, patches, pooled))
    classes = sorted({Path(name).parent.name for names, _, _ in sides for name in names})
    number = {name: place for place, name in enumerate(classes)}
    labels = [
        torch.tensor([number[Path(name).parent.name] for name in names], device=net.device) for names, _, _ in sides
    ]
    dense = sides[1][2] @ sides[0][2].T
    test = Test(labels[0], labels[1], dense, np.array([even(Path(name).name) for name in sides[1][0]]))
    found = recalls(dense, test)
    clock.say(
        f"{len(sides[0][0])} gallery, {len(sides[1][0])} queries, {len(classes)} classes; dense "
        + " ".join(f"r@{depth} {halves(hit, test)}" for depth, hit in found.items())
    )
    return Bench(test, sides[0][1], sides[1][1])


def train_one(item: Item, corpus: Corpus, args: argparse.Namespace, clock: Clock) -> TrainResult:
    source = MemorySource(corpus.patches[: item.views].flatten(0, 2))

    def tell(p: Progress) -> None:
        if args.verbose or p.step == p.steps:
            clock.say(
                f"{item.name} {p.step}/{p.steps} fvu {p.fvu:.4f} l0 {p.l0:.1f} dead {p.dead:.4f} {p.seconds:.1f}s"
            )

    held = corpus.held_out
    result = train_sae(source, item.settings, device=args.device, progress=tell, report_every=250, held_out=held)
    for k in (32, 16, 8, 4):
        if k <= item.settings.width:
            result.metrics[f"held_out_fvu_k{k}"] = reconstruction(result, held, k)["fvu"]
    return result


@torch.no_grad()
def codes_of(result: TrainResult, patches: torch.Tensor, block: int = 128) -> Codes:
    n, cells, _ = patches.shape
    k = min(K_MAX, result.settings.width)
    values = torch.empty(n, cells, k, device=patches.device)
    terms = torch.empty(n, cells, k, dtype=torch.int32, device=patches.device)
    with matmul_precision("float32", patches.device):
        for start in range(0, n, block):
            rows = result.normalise(patches[start : start + block].flatten(0, 1))
            value, term = result.sae.activations(rows, k)
            values[start : start + block] = value.view(-1, cells, k)
            terms[start : start + block] = term.view(-1, cells, k).int()
    return Codes(values, terms)


def run(args: argparse.Namespace) -> None:
    clock = Clock(args.budget)
    cuda = args.device.startswith("cuda")
    clock.say(f"torch {torch.__version__} on {torch.cuda.get_device_name() if cuda else 'CPU'}")
    for folder in (args.out, args.work):
        folder.mkdir(parents=True, exist_ok=True)
    net = Lite2(args.weights, args.device)
    bench = load_bench(args, net, clock)
    corpus = load_corpus(args, net, clock)
    base = SaeSettings(
        width=args.width, batch=args.batch, epochs=args.epochs, dead_after=args.dead_after, precision=args.precision
    )
    everything: dict[str, Any] = {"data_sha256": corpus.sha256, "pictures": corpus.pictures, "items": {}}
    longest = 0.0
    for name in args.plan:
        item = plan_item(name, base, args.views)
        if clock.left() < longest * 1.2 + args.reserve:
            clock.say(f"no time left for {name}")
            continue
        began = clock.now()
        result = train_one(item, corpus, args, clock)
        change = int8_change(result, bench, codes_of, FIRST[0])
        result.metrics["held_out_int8"] = reconstruction(result, corpus.held_out)
        result.metrics["int8_minus_float32_r1"] = change
        gallery, queries = codes_of(result, bench.gallery), codes_of(result, bench.queries)
        pools = ("max", "sum") if name in args.both_pools else ("max",)
        with matmul_precision("tf32", args.device):
            rows = list(evaluate(gallery, queries, bench.test, item.settings.width, pools=pools))
        del gallery, queries
        everything["items"][name] = {"settings": item.settings.to_json(), "metrics": result.metrics, "rows": rows}
        m = result.metrics
        clock.say(
            f"{name}: fvu {m['held_out']['fvu']:.4f} int8 {m['held_out_int8']['fvu']:.4f} k8 {m['held_out_fvu_k8']:.4f}"
            f" k4 {m['held_out_fvu_k4']:.4f} dead {m['train']['dead']:.4f}; int8 changes r@1 by {change:+.4f}"
        )
        for row in best_rows(rows) + front(rows):
            print("   ", line(row), flush=True)
        info = {"name": name, "encoder": "efficientnet-lite2", "data_sha256": corpus.sha256, "views": item.views}
        save_vocabulary(result, args.work / name, info=info)
        statistics(codes_of(result, corpus.whole), item.settings.width, args.work / name)
        for folder in args.code if name in args.keep else ():
            pictures = read_pictures(folder, small=False, limit=args.limit)
            with matmul_precision("float32", args.device):
                patches, _ = patch_matrix(
                    net, whole_views(pictures, net.device, args.picture_batch), len(pictures.names), torch.float32
                )
            picture_terms(
                codes_of(result, patches), pictures.names, item.settings.width, args.code_k,
                args.out / f"{name}-{folder.name}-terms.safetensors",
            )  # fmt: skip
        del result
        longest = max(longest, clock.now() - began)
        with gzip.open(args.out / "trials.json.gz", "wt", encoding="utf-8") as stream:
            json.dump(everything, stream)
        clock.say(f"{name} took {clock.now() - began:.1f}s")
    for name in args.keep:
        if (args.work / name).exists():
            target = args.out / f"{name}.tar"
            with tarfile.open(target, "w") as archive:
                archive.add(args.work / name, arcname=name)
            clock.say(f"{target.name}: {target.stat().st_size / 2**20:.2f} MiB")
    if args.tiny:
        shutil.rmtree(args.work)
    clock.say("done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--images", type=Path, action="append", required=True, help="a folder to train on; repeat")
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--code", type=Path, action="append", default=[], help="a folder whose terms are kept; repeat")
    parser.add_argument("--code-k", type=int, default=16)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--plan", type=lambda text: tuple(text.split(",")), default=PLAN)
    parser.add_argument("--keep", type=lambda text: tuple(text.split(",")), default=())
    parser.add_argument("--both-pools", type=lambda text: tuple(text.split(",")), default=("k16-s0",))
    parser.add_argument("--views", type=int, default=1, help="1: whole pictures; 2: mirrored too; more: random cuts")
    parser.add_argument("--width", type=int, default=11_520)
    parser.add_argument("--batch", type=int, default=8_192)
    parser.add_argument("--epochs", type=float, default=18.0)
    parser.add_argument("--dead-after", type=int, default=500_000)
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "tf32", "bf16"))
    parser.add_argument("--picture-batch", type=int, default=128)
    parser.add_argument("--limit", type=int, help="about this many pictures of each folder")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds; no training starts that would not fit")
    parser.add_argument("--reserve", type=float, default=20.0)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    args = parser.parse_args()
    if args.tiny:
        args.width, args.batch, args.epochs, args.limit, args.views = 256, 256, 1.0, 12, 3
        args.dead_after, args.picture_batch, args.budget = 20_000, 8, 1e9
    run(args)


if __name__ == "__main__":
    sys.exit(main())
