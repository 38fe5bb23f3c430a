"""`zipfian train sae | align | import-sae`: a vocabulary, or a bridge between texts and pictures, of your own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import train_align, train_import
from zipfian.cli._arguments import positive
from zipfian.cli._output import Progress, human_seconds, print_json, printable, table
from zipfian.cli._training import Shown
from zipfian.errors import InvalidInput
from zipfian.train.fit import FittedSae, check_folder, fit_sae

if TYPE_CHECKING:
    from zipfian.train.settings import SaeSettings

PRESETS = ("bm25-v", "latent-terms", "photos")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    sae = kinds.add_parser(
        "sae",
        help="a sparse autoencoder on the token vectors of an encoder",
        description="Train a sparse autoencoder on the token vectors of a frozen encoder; its features are the terms.",
        epilog="The output folder is a vocabulary: sae.safetensors, sae.json, history.json and a model card.",
    )
    sae.add_argument(
        "--encoder", required=True, metavar="NAME|PATH", help="text, image, open_clip:NAME, hf:NAME or a model's folder"
    )
    sae.add_argument("--kind", choices=("text", "image"), help="the half of a CLIP or SigLIP model (image)")
    sae.add_argument(
        "--layers", type=_layers, default=None, metavar="L[:F],...", help="hidden states: --layers=-2:0.5,-1"
    )
    sae.add_argument("--max-tokens", type=positive, metavar="N", help="tokens a text is cut into windows of")
    sae.add_argument("--data", type=Path, required=True, metavar="PATH", help="a folder, a JSONL/CSV file or a file")
    sae.add_argument("--lines", action="store_true", help="the file has a text on each line")
    sae.add_argument("--text-column", metavar="NAME", help="the column of records that holds the text")
    sae.add_argument("--limit", type=positive, metavar="TOKENS", help="stop reading after so many tokens")
    sae.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    sae.add_argument("--name", help="the vocabulary's name (the folder's)")
    sae.add_argument("--preset", choices=PRESETS, help="of a paper, or for photos; the options below change it")
    numbers: dict[str, tuple[type, str]] = {
        "width": (int, "terms of the vocabulary (16384)"),
        "k": (int, "active terms per token (16)"),
        "epochs": (float, "passes over the tokens (3)"),
        "batch": (int, "tokens per step (8192)"),
        "lr": (float, "peak learning rate (0.001)"),
        "l1": (float, "weight of the L1 norm (0)"),
        "seed": (int, "of all randomness (0)"),
    }
    for name, (kind, text) in numbers.items():
        sae.add_argument(f"--{name}", type=kind, metavar="N", help=text)
    sae.add_argument("--optimizer", choices=("adam", "adamw"))
    sae.add_argument("--stored", choices=("int8", "float16", "float32"), default="int8", help="of the weights (int8)")
    sae.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    sae.add_argument(
        "--memory", type=float, default=2.0, metavar="GIB", help="more activations than this go to disk (2)"
    )
    sae.add_argument("--resume", action="store_true", help="go on with a training that was interrupted")
    sae.add_argument("--keep", action="store_true", help="keep activations and checkpoint")
    sae.add_argument("--keep-decoder", action="store_true", help="write the decoder too")
    sae.add_argument("--json", action="store_true", help="print the outcome as JSON")
    train_align.configure(kinds)
    train_import.configure(kinds)


def run(args: argparse.Namespace) -> int:
    """Encode, train, write."""
    if args.what == "align":
        return train_align.run(args)
    if args.what == "import-sae":
        return train_import.run(args)
    check_folder(args.out, args.resume)
    from zipfian.encode.hub._torch import checked_device
    from zipfian.train import sae  # noqa: F401  asks for torch before anything slow begins

    encoder = _encoder(args, checked_device(args.device))
    with Progress("encoding") as bar:
        watch = Shown(bar)
        fitted = fit_sae(
            args.data, args.out, encoder=encoder, settings=_settings(args, encoder.dim), preset=args.preset,
            lines=args.lines, text_column=args.text_column, limit=args.limit, name=args.name, stored=args.stored,
            keep_decoder=args.keep_decoder, device=args.device, memory=int(args.memory * 2**30), resume=args.resume,
            keep=args.keep, watch=watch,
        )  # fmt: skip
    _report(args, fitted)
    return 0


def _encoder(args: argparse.Namespace, device: str) -> Any:
    """One of the default encoders, or one of the hub."""
    chosen: dict[str, Any] = {"layers": args.layers} if args.layers else {}
    if args.max_tokens:
        chosen["max_tokens"] = args.max_tokens
    if args.encoder == "image" and chosen:
        raise InvalidInput(f"--{next(iter(chosen)).replace('_', '-')} does not apply to the default image encoder")
    from zipfian.encode.named import named_encoder

    return named_encoder(args.encoder, args.kind, device=device, **chosen)


def _settings(args: argparse.Namespace, dim: int) -> SaeSettings | None:
    """None: those of the preset, or the default ones."""
    from zipfian.train.settings import SaeSettings

    names = ("width", "k", "epochs", "batch", "lr", "l1", "seed", "optimizer")
    changes = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if not changes:
        return None
    return SaeSettings.preset(args.preset, dim, **changes) if args.preset else SaeSettings(**changes)


def _report(args: argparse.Namespace, fitted: FittedSae) -> None:
    result = fitted.result
    metrics = result.metrics
    last = metrics.get("held_out") or metrics["train"]
    outcome = {
        "out": str(args.out),
        "terms": result.settings.width,
        "items": fitted.items,
        "left_out": fitted.left_out,
        "tokens": fitted.tokens,
        "metrics": metrics,
        "settings": result.settings.to_json(),
    }
    if args.json:
        print_json(outcome)
        return
    rows = [
        ("tokens", f"{fitted.tokens:,} of {fitted.items:,} items"),
        ("left out", f"{fitted.left_out:,} items"),
        ("steps", f"{metrics['steps']:,} in {human_seconds(metrics['seconds'])}"),
        ("error", f"{last['error']:.4f}"),
        ("variance unexplained", f"{last['fvu']:.4f}{' (held out)' if 'held_out' in metrics else ''}"),
        ("active terms a token", f"{last['l0']:.2f}"),
        ("terms that never fire", f"{metrics['train']['dead']:.2%}"),
    ]
    print(table(("what", "value"), rows))
    print(f"\n{printable(str(args.out))}: {result.settings.width:,} terms, ready to use as a vocabulary")


def _layers(text: str) -> list[tuple[int, float]]:
    """-2:0.5,-1 as pairs of layer and factor."""
    try:
        pairs = [part.partition(":") for part in text.split(",")]
        return [(int(layer), float(factor) if colon else 1.0) for layer, colon, factor in pairs]
    except ValueError:
        raise argparse.ArgumentTypeError(f"layers are written like --layers=-2:0.5,-1, not {text!r}") from None
