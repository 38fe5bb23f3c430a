"""Part of `zipfian train align`: `--unfreeze`, a CLIP model of the hub fine-tuned on captioned pictures."""

from __future__ import annotations

import argparse
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from zipfian.cli._output import Progress, note
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.train.align_fit import Parts

ONLY_HEADS = ("dim", "hidden", "word_rank", "term_rank", "dropout", "hidden_dropout", "vocabulary")
"""Settings that a whole model has no use for."""


def run(args: argparse.Namespace, parts: Parts, device: str) -> int:
    """Train, measure, write."""
    from zipfian.cli.train_align import HEADER, report, show_epoch
    from zipfian.train.align_measure import named
    from zipfian.train.align_unfreeze import UnfreezeSettings, unfreeze

    useless = [name for name in ONLY_HEADS if getattr(args, name) is not None]
    if useless or (args.text_encoder, args.image_encoder) != ("text", "image"):
        name = useless[0].replace("_", "-") if useless else "text-encoder and --image-encoder"
        raise InvalidInput(f"--{name} is for heads on frozen encoders: leave it out with --unfreeze")
    given = {f.name: getattr(args, f.name, None) for f in fields(UnfreezeSettings)}
    settings = UnfreezeSettings(**{name: value for name, value in given.items() if value is not None})
    note(HEADER + "; epoch 0 is the model as it came")
    with Progress("training, step") as bar:

        def stepped(done: int, steps: int) -> None:
            bar.total = steps
            bar.reach(done)

        made = unfreeze(
            args.unfreeze, parts.train, parts.dev, settings, device=device, progress=show_epoch, stepped=stepped
        )
    measured: dict[str, Any] = {
        "dev": {"before": named((made.before.t2i, made.before.i2t)), "after": named((made.best.t2i, made.best.i2t))}
    }
    if parts.test is not None:
        measured["test"] = {"after": named(made.recalls(parts.test))}
    made.save(args.out, {"data": {"captions": args.captions.name, "splits": parts.sizes()}, "measured": measured})
    outcome = {
        "out": str(args.out), "data": parts.sizes(), "measured": measured, "best": made.best.epoch,
        "history": [asdict(epoch) for epoch in made.history], "settings": asdict(settings),
    }  # fmt: skip
    report(args, outcome, f"ready for zipfian.encode.hub.dual({str(args.out)!r})")
    return 0
