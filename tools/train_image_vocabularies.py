"""Image vocabularies at several k, widths and layers, on a processor: pictures go through the package's encoder once.

    PYTHONPATH=src python3 tools/train_image_vocabularies.py --images FOLDER --images FOLDER --out OUT \
        --plan head:k16:w5120:s0,head:k32:w5120:s0,block20:k16:w5120:s0

Needs torch. What `tools/ablate_image_vocabulary.py` does on a GPU, without its measures: each vocabulary is a folder
that `Visual(FOLDER)` reads, for `python -m experiments bm25v-table3` and `bm25v-ablation`. By default it sees a
thirtieth of the patches that a GPU is given there, so that a training takes minutes: `metrics.json` says what that
leaves unexplained.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from training.image_plan import Item, described
from training.plan import Clock

from zipfian.encode.image import ImageEncoder
from zipfian.encode.images import SUFFIXES
from zipfian.train.activations import gather
from zipfian.train.export import save_vocabulary
from zipfian.train.sae import train_sae
from zipfian.train.settings import SaeSettings


def pictures(folders: list[Path], most: int | None) -> Iterator[tuple[str, Path]]:
    """Every picture of the folders, or about so many of each, in the order of their names."""
    for folder in folders:
        paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
        step = 1 if most is None else max(1, -(-len(paths) // most))
        yield from ((path.name, path) for path in paths[::step])


def layer_of(item: Item) -> int:
    """Blocks in order, the last convolution first."""
    return -1 if item.block is None else item.block


def run(args: argparse.Namespace) -> None:
    clock, found = Clock(0.0), dict[str, Any]()
    for _, items in groupby(sorted(args.plan, key=layer_of), layer_of):
        plan = list(items)
        encoder = ImageEncoder() if plan[0].block is None else ImageEncoder(block=plan[0].block)
        activations = gather(encoder, pictures(args.images, args.limit))
        clock.say(f"layer {plan[0].block}: {activations.items:,} pictures, {activations.rows:,} patches")
        for item in plan:
            settings = SaeSettings(
                width=item.width, k=item.k, seed=item.seed, batch=args.batch, dead_after=500_000,
                epochs=args.patches / activations.rows, precision=args.precision,
            )  # fmt: skip
            result = train_sae(activations.source, settings, held_out=activations.held_out)
            save_vocabulary(
                result, args.out / item.name, info={"name": item.name, "encoder": described(item.block, encoder.dim)}
            )
            found[item.name] = result.metrics
            (args.out / "metrics.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            clock.say(f"{item.name}: {result.metrics['seconds']:.0f} s, unexplained {result.metrics['held_out']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, action="append", required=True, help="a folder to train on; repeat")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plan", type=lambda text: [Item.parse(part) for part in text.split(",")], required=True)
    parser.add_argument("--patches", type=float, default=8e5, help="to train on, repeats counted (%(default)s)")
    parser.add_argument("--batch", type=int, default=2_048, help="patches of a step (%(default)s)")
    parser.add_argument("--precision", choices=("float32", "bf16"), default="bf16", help="of products (%(default)s)")
    parser.add_argument("--limit", type=int, help="about this many pictures of each folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    run(args)


if __name__ == "__main__":
    main()
