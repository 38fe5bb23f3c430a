"""One training after another until the plan or the time ends: what texts and pictures have in common.

A kind (`text.py`, `image.py`) reads its data, says what a plan's name means, and measures what was trained. Training,
the budget, int8, saving and packing are here.
"""

from __future__ import annotations

import argparse
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from training.codes import quantise_in_place
from training.plan import Clock
from zipfian.train.export import save_vocabulary
from zipfian.train.sae import Progress, TrainResult, reconstruction, train_sae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

Rows = list[dict[str, Any]]


class Item(NamedTuple):
    """One training of the plan."""

    name: str
    settings: SaeSettings
    how: Any
    """What else the name says: the layers of texts, the views of pictures."""


class Data(NamedTuple):
    """What one training reads."""

    source: MemorySource
    held_out: torch.Tensor


class Kind(ABC):
    """What is different about texts and about pictures."""

    PLAN: ClassVar[tuple[str, ...]]
    """Trainings unless others are named."""
    TINY_PLAN: ClassVar[tuple[str, ...]]
    """The same for a rehearsal."""
    DEFAULTS: ClassVar[dict[str, Any]]
    """Width, epochs and the like, unless given."""
    TINY: ClassVar[dict[str, Any]]
    """What `--tiny` changes."""
    HELD_OUT_KS: ClassVar[tuple[int, ...]]
    """Terms of a token at which the reconstruction of held-out vectors is measured."""
    REPORT_EVERY: ClassVar[int]

    def __init__(self, args: argparse.Namespace, clock: Clock) -> None:
        self.args, self.clock = args, clock

    @staticmethod
    @abstractmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        """Declare what only this kind takes."""

    @abstractmethod
    def load(self, base: SaeSettings) -> None:
        """Read and encode everything."""

    @abstractmethod
    def item(self, name: str, base: SaeSettings) -> Item:
        """The training that a name of the plan means."""

    @abstractmethod
    def data(self, item: Item) -> Data:
        """What it is trained on."""

    @abstractmethod
    def exactly(self, result: TrainResult, item: Item) -> Any:
        """Measured before the weights are put in steps of int8, to be compared with what comes after."""

    @abstractmethod
    def evaluate(self, result: TrainResult, item: Item, exact: Any) -> Rows:
        """Every way to use the vocabulary, measured and shown."""

    @abstractmethod
    def info(self, item: Item, rows: Rows) -> dict[str, Any]:
        """What the vocabulary's settings say about where it comes from."""

    @abstractmethod
    def keep(self, result: TrainResult, item: Item, folder: Path) -> None:
        """Write what is kept beside the weights."""

    @abstractmethod
    def write(self, item: Item, result: TrainResult, rows: Rows) -> None:
        """Add a training to the file of all trials."""

    @abstractmethod
    def finish(self) -> None:
        """What is left to say and to bring back."""


def train_one(kind: Kind, item: Item, data: Data) -> TrainResult:
    """Train, and measure what the held-out vectors lose."""

    def tell(p: Progress) -> None:
        if kind.args.verbose or p.step == p.steps:
            kind.clock.say(
                f"{item.name} {p.step}/{p.steps} fvu {p.fvu:.4f} l0 {p.l0:.1f} dead {p.dead:.4f} {p.seconds:.1f}s"
            )

    result = train_sae(
        data.source, item.settings, device=kind.args.device, progress=tell, report_every=kind.REPORT_EVERY,
        held_out=data.held_out,
    )  # fmt: skip
    for k in kind.HELD_OUT_KS:
        if k <= item.settings.width:
            result.metrics[f"held_out_fvu_k{k}"] = reconstruction(result, data.held_out, k)["fvu"]
    return result


def run(kind: Kind) -> None:
    """Load, then train and measure all of the plan that fits into the time."""
    args, clock = kind.args, kind.clock
    cuda = args.device.startswith("cuda")
    clock.say(f"torch {torch.__version__} on {torch.cuda.get_device_name() if cuda else 'CPU'}")
    for folder in (args.out, args.work):
        folder.mkdir(parents=True, exist_ok=True)
    base = SaeSettings(
        width=args.width, batch=args.batch, epochs=args.epochs, dead_after=args.dead_after, precision=args.precision
    )
    items = [kind.item(name, base) for name in args.plan]
    kind.load(base)
    longest = 0.0
    for item in items:
        if clock.left() < longest * 1.2 + args.reserve:
            clock.say(f"no time left for {item.name}")
            continue
        began = clock.now()
        data = kind.data(item)
        result = train_one(kind, item, data)
        exact = kind.exactly(result, item)
        quantise_in_place(result)
        result.metrics["held_out_int8"] = reconstruction(result, data.held_out)
        rows = kind.evaluate(result, item, exact)
        save_vocabulary(result, args.work / item.name, info=kind.info(item, rows))
        kind.keep(result, item, args.work / item.name)
        kind.write(item, result, rows)
        del result, data
        longest = max(longest, clock.now() - began)
        clock.say(f"{item.name} took {clock.now() - began:.1f}s")
    kind.finish()


def pack(folder: Path, target: Path, names: Sequence[str] | None = None) -> int:
    """The files of a folder in one archive, all or those named; returns its size."""
    with tarfile.open(target, "w") as archive:
        for path in sorted(folder.iterdir()):
            if names is None or path.name in names:
                archive.add(path, arcname=f"{folder.name}/{path.name}")
    return target.stat().st_size


def words(text: str) -> tuple[str, ...]:
    """A list written with commas."""
    return tuple(text.split(","))


def parser_of(kind: type[Kind], parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """What every training takes, and what this kind takes beside it."""
    parser.add_argument("--work", type=Path, required=True, help="kept between runs on one machine")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--plan", type=words, default=kind.PLAN)
    parser.add_argument("--keep", type=words, default=(), help="names to bring back")
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch", type=int, default=8_192)
    parser.add_argument("--epochs", type=float)
    parser.add_argument("--dead-after", type=int)
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "tf32", "bf16"))
    parser.add_argument("--limit", type=int, help="paragraphs to read, or about so many pictures of each folder")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds; no training starts that would not fit")
    parser.add_argument("--reserve", type=float, default=20.0)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    kind.arguments(parser)
    parser.set_defaults(**kind.DEFAULTS)
    return parser
