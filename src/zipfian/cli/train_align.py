"""`zipfian train align`: texts and pictures brought into one space, from pictures with captions."""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli._arguments import positive
from zipfian.cli._output import Progress, note, print_json, printable, table
from zipfian.errors import InvalidInput
from zipfian.train.align_fit import CHOSEN, AlignWatcher, Parts, check_folder, fit_alignment

if TYPE_CHECKING:
    from zipfian.train.align_settings import AlignSettings
    from zipfian.train.passes import Epoch

SHOWN_PROBLEMS = 5
NUMBERS: dict[str, tuple[type, str]] = {
    "dim": (int, "width of the common space, of each member (128)"),
    "hidden": (int, "width of the hidden layer (256)"),
    "word-rank": (int, "width that words are embedded in (192)"),
    "term-rank": (int, "width that visual words are embedded in (0: the heads do not read them)"),
    "epochs": (int, "passes over all captions (20; with --unfreeze 5)"),
    "patience": (int, "epochs without a better dev score that end the training (10; with --unfreeze 2)"),
    "batch": (int, "pictures per step (512; with --unfreeze 64)"),
    "lr": (float, "peak learning rate (0.002; with --unfreeze 0.00001)"),
    "dropout": (float, "share of inputs left out (0.55)"),
    "hidden-dropout": (float, "share of hidden units left out (0.5)"),
    "weight-decay": (float, "of AdamW (0.05)"),
    "temperature": (float, "where the learnt temperature starts (0.07)"),
    "seed": (int, "of all randomness (0)"),
}


def configure(kinds: Any) -> None:
    """Declare the arguments."""
    parser = kinds.add_parser(
        "align",
        help="two heads that bring texts and pictures into one space, from pictures with captions",
        description="Train two small heads on frozen encoders so that a picture and its captions meet, and a table "
        "that translates words into visual words; or, with --unfreeze, fine-tune a CLIP model of the hub.",
        epilog="The output folder is used as Aligned(model=FOLDER) and Translated(model=FOLDER); with "
        "--unfreeze it is a model for zipfian.encode.hub.dual(FOLDER). What was encoded is kept in the encode cache: "
        "a second training on the same pictures starts at once.",
    )
    parser.add_argument(
        "--captions", type=Path, required=True, metavar="FILE", help="our JSONL, COCO captions or a Karpathy split"
    )
    parser.add_argument("--images", type=Path, required=True, metavar="DIR", help="the folder of the pictures")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    parser.add_argument("--name", help="of the alignment (the folder's)")
    parser.add_argument("--train", default="train", metavar="A,B", help="splits to train on (train); 'all': everything")
    parser.add_argument("--dev", default="dev", metavar="SPLIT", help="the split that ends the training (dev)")
    parser.add_argument(
        "--dev-captions", type=Path, metavar="FILE", help="captions of the dev split, if in another file"
    )
    parser.add_argument("--dev-images", type=Path, metavar="DIR", help="and its pictures (--images)")
    parser.add_argument("--test", metavar="SPLIT", help="a split to measure once, at the end")
    parser.add_argument("--limit", type=positive, metavar="N", help="train on so many pictures, drawn at random")
    parser.add_argument("--text-encoder", default="text", metavar="NAME|PATH", help="text (default), or one of the hub")
    parser.add_argument("--image-encoder", default="image", metavar="NAME|PATH", help="image (default), or of the hub")
    parser.add_argument("--vocabulary", metavar="NAME|PATH", help="visual words of the image encoder (image-11k)")
    parser.add_argument("--no-table", action="store_true", help="do not make a translation table")
    parser.add_argument("--members", type=positive, default=4, metavar="N", help="heads whose cosines are averaged (4)")
    parser.add_argument("--least", type=positive, default=4, metavar="N", help="captions that must use a word (4)")
    parser.add_argument("--memory", type=float, default=8.0, metavar="GIB", help="for matrices of features (8)")
    for name, (kind, text) in NUMBERS.items():
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=text)
    parser.add_argument("--unfreeze", metavar="NAME|PATH", help="fine-tune this CLIP model instead of training heads")
    parser.add_argument("--precision", choices=("auto", "float32", "bf16"), help="auto: bf16 products on a GPU")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, encode, train, measure, write."""
    check_folder(args.out)
    from zipfian.encode.hub._torch import checked_device
    from zipfian.train import align  # noqa: F401  asks for torch before anything slow begins

    device = checked_device(args.device)
    parts = _read(args)
    if args.unfreeze is not None:
        from zipfian.cli import _train_unfrozen

        return _train_unfrozen.run(args, parts, device)
    return _heads(args, parts)


def _heads(args: argparse.Namespace, parts: Parts) -> int:
    settings = _settings(args)
    with Progress("encoding") as bar:
        fitted = fit_alignment(
            parts, args.out, settings=settings, text_encoder=args.text_encoder, image_encoder=args.image_encoder,
            vocabulary=args.vocabulary, table=not args.no_table, members=args.members, least=args.least,
            memory=int(args.memory * 2**30), name=args.name, data_name=args.captions.name, device=args.device,
            watch=_Shown(bar),
        )  # fmt: skip
    outcome = {
        "out": str(args.out), "data": parts.sizes(), "left_out": fitted.left_out, "words": fitted.words,
        "members": [{"seed": m.settings.seed, "best": m.best.epoch, "history": [asdict(e) for e in m.history]}
                    for m in fitted.members],
        "measured": fitted.measured, "settings": settings.to_json(),
    }  # fmt: skip
    report(args, outcome, f"ready for Aligned(model={str(args.out)!r})")
    return 0


def _read(args: argparse.Namespace) -> Parts:
    from zipfian.evaluate.datasets.captions import load_captions

    def part(file: Path, images: Path, split: str) -> list[tuple[Path, tuple[str, ...]]]:
        return [(picture.path, picture.captions) for picture in load_captions(file, images, split).pictures]

    names = [name.strip() for name in args.train.split(",") if name.strip()]
    if not names:
        raise InvalidInput("--train names no split")
    train = [pair for name in names for pair in part(args.captions, args.images, name)]
    if args.dev_captions is not None:
        dev = part(args.dev_captions, args.dev_images or args.images, "all")
    elif args.dev in names or "all" in names:
        raise InvalidInput(
            f"the split {args.dev!r} would be trained on and end the training: name another --dev, or --dev-captions"
        )
    else:
        dev = part(args.captions, args.images, args.dev)
    both = {path.resolve() for path, _ in train} & {path.resolve() for path, _ in dev}
    if both:
        raise InvalidInput(
            f"{len(both)} pictures are in train and dev alike, such as {min(both).name}: dev would prove nothing"
        )
    if args.limit is not None and args.limit < len(train):
        train = random.Random(args.seed or 0).sample(train, args.limit)
    return Parts(train, dev, None if args.test is None else part(args.captions, args.images, args.test))


def _settings(args: argparse.Namespace) -> AlignSettings:
    names = [name.replace("-", "_") for name in (*NUMBERS, "precision")]
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return replace(CHOSEN, **given)


HEADER = "epoch, loss, temperature, dev R@1/5/10 text to picture, picture to text"


def show_epoch(epoch: Epoch) -> None:
    """One line on standard error."""
    ways = "   ".join("/".join(f"{value:.3f}" for value in way.values()) for way in (epoch.t2i, epoch.i2t))
    note(f"{epoch.epoch + 1:>4}  {epoch.loss:.4f}  {epoch.temperature:.4f}  {ways}  ({epoch.seconds:.0f} s)")


class _Shown(AlignWatcher):
    """What happens, on standard error: the first few problems, how far it is, and a line for every epoch."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._problems = 0

    def encoding(self, split: str, pictures: int) -> None:
        self._bar.label, self._bar.total, self._bar.done = f"encoding {split}", pictures, 0

    def encoded(self, pictures: int) -> None:
        self._bar.reach(pictures)

    def member(self, number: int, members: int) -> None:
        self._bar.clear()
        note(f"member {number + 1} of {members}: {HEADER}")

    def trained(self, epoch: Epoch) -> None:
        show_epoch(epoch)

    def skipped(self, where: str, problem: str) -> None:
        self._problems += 1
        if self._problems <= SHOWN_PROBLEMS:
            self._bar.clear()
            note(f"left out {printable(where)}: {printable(problem)}")


def report(args: argparse.Namespace, outcome: dict[str, Any], use: str) -> None:
    """The outcome for a person, or as JSON."""
    if args.json:
        print_json(json.loads(json.dumps(outcome)))
        return
    keys = [f"{way}_r@{k}" for way in ("t2i", "i2t") for k in (1, 5, 10)]
    rows = [
        (split, what, *(f"{found[key]:.4f}" for key in keys))
        for split, ways in outcome["measured"].items()
        for what, found in ways.items()
    ]
    print(table(("split", "what", *keys), rows, right=range(2, 2 + len(keys))))
    sizes = outcome["data"]["train"]
    made_of = f"{sizes['captions']:,} captions of {sizes['pictures']:,} pictures"
    print(f"\n{printable(str(args.out))}: trained on {made_of}, {use}")
