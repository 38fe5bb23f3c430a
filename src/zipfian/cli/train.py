"""`zipfian train sae | align | import-sae`: a vocabulary, or a bridge between texts and pictures, of your own."""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import train_align, train_import
from zipfian.cli._arguments import positive
from zipfian.cli._output import Progress, human_bytes, human_seconds, note, print_json, printable, table
from zipfian.cli._train_data import Data, Survey
from zipfian.errors import IndexExists, InvalidInput

if TYPE_CHECKING:
    from zipfian.train.activations import Activations
    from zipfian.train.sae import TrainResult
    from zipfian.train.settings import SaeSettings

PRESETS = ("bm25-v", "latent-terms")
CHECKPOINT = "checkpoint.safetensors"
RUN = "run.json"
SHARDS = "activations"
SHOWN_PROBLEMS = 5


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
        "--encoder", required=True, metavar="NAME|PATH", help="text, image, a hub name or a model's folder"
    )
    sae.add_argument("--kind", choices=("text", "image"), help="the half of a CLIP or SigLIP model (image)")
    sae.add_argument(
        "--layers", type=_layers, default=None, metavar="L[:F],...", help="hidden states: --layers=-2:0.5,-1"
    )
    sae.add_argument("--max-tokens", type=positive, metavar="N", help="tokens a text is cut into windows of")
    sae.add_argument("--data", type=Path, required=True, metavar="PATH", help="a folder, a JSONL/CSV file or a file")
    sae.add_argument("--lines", action="store_true", help="the file has a text on each line")
    sae.add_argument("--text-field", metavar="NAME", help="the field of records that holds the text")
    sae.add_argument("--limit", type=positive, metavar="TOKENS", help="stop reading after so many tokens")
    sae.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    sae.add_argument("--name", help="the vocabulary's name (the folder's)")
    sae.add_argument("--preset", choices=PRESETS, help="the settings of a paper; the options below change them")
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
    _check_folder(args.out, args.resume)
    from zipfian.encode.hub._torch import checked_device
    from zipfian.train import sae  # asks for torch before anything slow begins

    device = checked_device(args.device)
    encoder = _encoder(args, device)
    settings = _settings(args, encoder.dim)
    problems = _Problems()
    data = Data(args.data, encoder.kind, args.lines, args.text_field)
    survey = data.survey(problems.first)
    activations = _activations(args, encoder, settings, data, survey, problems)
    held_out = activations.held_out
    with Progress("training", total=0) as bar:
        result = sae.train_sae(
            activations.source,
            settings,
            device=device,
            progress=_shown(bar),
            report_every=20,
            held_out=held_out,
            checkpoint=args.out / CHECKPOINT,
        )
    _write(args, encoder, survey, result)
    if not args.keep:
        (args.out / CHECKPOINT).unlink(missing_ok=True)
        (args.out / RUN).unlink(missing_ok=True)
        shutil.rmtree(args.out / SHARDS, ignore_errors=True)
    _report(args, result, activations, problems)
    return 0


def _check_folder(out: Path, resume: bool) -> None:
    if (out / "sae.json").exists():
        raise IndexExists(f"{out} holds a finished vocabulary: choose another --out, or delete it")
    if out.exists() and not out.is_dir():
        raise IndexExists(f"{out} is a file: choose another --out")
    if (out / RUN).exists() and not resume:
        raise IndexExists(f"{out} holds a training that did not finish: add --resume to go on, or delete the folder")
    if resume and not (out / RUN).exists():
        raise InvalidInput(f"{out} holds no training to resume: leave --resume out")


def _encoder(args: argparse.Namespace, device: str) -> Any:
    """One of the default encoders, or one of the hub."""
    chosen: dict[str, Any] = {"layers": args.layers} if args.layers else {}
    if args.max_tokens:
        chosen["max_tokens"] = args.max_tokens
    if args.encoder == "image" and chosen:
        raise InvalidInput(f"--{next(iter(chosen)).replace('_', '-')} does not apply to the default image encoder")
    if args.encoder in ("text", "image"):
        from zipfian.encode import ImageEncoder, TextEncoder

        return TextEncoder(**chosen) if args.encoder == "text" else ImageEncoder()
    from zipfian.encode import hub

    return hub.load(args.encoder, kind=args.kind, device=device, **chosen)


def _settings(args: argparse.Namespace, dim: int) -> SaeSettings:
    from zipfian.train.settings import SaeSettings

    names = ("width", "k", "epochs", "batch", "lr", "l1", "seed", "optimizer")
    changes = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return SaeSettings.preset(args.preset, dim, **changes) if args.preset else SaeSettings(**changes)


def _activations(
    args: argparse.Namespace, encoder: Any, settings: SaeSettings, data: Data, survey: Survey, problems: _Problems
) -> Activations:
    from zipfian.train import activations

    tokens = activations.estimate_tokens(encoder, survey.sample, survey.items)
    wanted = tokens if args.limit is None else min(tokens, args.limit)
    if 2 * wanted < _needed(settings):
        raise InvalidInput(
            f"{args.data} has about {wanted:,} tokens; {settings.width:,} terms need at least "
            f"{_needed(settings):,}: give more data or a smaller --width"
        )
    size = wanted * encoder.dim * activations.BYTES
    identity = {
        "encoder": encoder.fingerprint, "data": survey.sha256, "limit": args.limit, "settings": settings.to_json(),
        "store": "memory" if size <= args.memory * 2**30 else "disk",
    }  # fmt: skip
    store = _same_run(args, identity)
    folder = args.out / SHARDS if store == "disk" else None
    note(
        f"{survey.items:,} {encoder.kind}s, about {wanted:,} tokens of {encoder.dim} numbers; their vectors take "
        f"{human_bytes(size)} {'in memory' if folder is None else 'on disk'}"
    )
    if folder is not None:
        activations.check_room(folder, wanted, encoder.dim)
    key = json.dumps({name: identity[name] for name in ("encoder", "data", "limit")})
    with Progress("encoding", total=survey.items) as bar:
        return activations.gather(
            encoder,
            data.items(problems.again),
            folder=folder,
            identity=key,
            limit=args.limit,
            skipped=problems.first,
            progress=lambda done, _: bar.step(done - bar.done),
        )


def _needed(settings: SaeSettings) -> int:
    """Tokens that the training asks for at least."""
    return max(4 * settings.width, settings.batch)


def _same_run(args: argparse.Namespace, identity: dict[str, Any]) -> str:
    """Remember what is being done, or check that a resumed run is the same; gives where the activations are kept."""
    path = args.out / RUN
    if args.resume:
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InvalidInput(f"{path} is damaged: delete the folder and start again") from error
        wanted = json.loads(json.dumps({**identity, "store": before.get("store")}))
        other = [name for name in wanted if wanted[name] != before.get(name)]
        if other:
            raise InvalidInput(
                f"{args.out}: the training that was interrupted had other {', '.join(other)}; give the same"
            )
        return str(before["store"])
    args.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(identity), encoding="utf-8")
    return str(identity["store"])


def _write(args: argparse.Namespace, encoder: Any, survey: Survey, result: TrainResult) -> None:
    from zipfian.encode.registry import register
    from zipfian.train.export import save_vocabulary
    from zipfian.vocabulary.presets import PRESETS as USES

    spec = register(encoder)
    name = args.name or args.out.resolve().name
    info = {
        "name": name,
        "data": args.data.name,
        "data_sha256": survey.sha256,
        "encoder": {
            "name": spec.fingerprint.partition(":")[0],
            "kind": encoder.kind,
            "dim": encoder.dim,
            "fingerprint": spec.fingerprint,
            "made_by": spec.name,
            "settings": json.loads(spec.settings),
        },
    }
    save_vocabulary(result, args.out, info=info, stored=args.stored, keep_decoder=args.keep_decoder)
    if args.preset:
        path = args.out / "sae.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings["defaults"] = {**asdict(USES[args.preset]), "k": result.settings.k}
        path.write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _shown(bar: Progress) -> Any:
    def step(progress: Any) -> None:
        bar.total = progress.steps
        bar.label = (
            f"training, error {progress.error:.4f}, FVU {progress.fvu:.3f}, L0 {progress.l0:.1f}, "
            f"dead {progress.dead:.1%}, step"
        )
        bar.step(progress.step - bar.done)

    return step


class _Problems:
    """What could not be used: counted once, the first few shown."""

    def __init__(self) -> None:
        self.count = 0

    def first(self, where: str, problem: str) -> None:
        self.count += 1
        if self.count <= SHOWN_PROBLEMS:
            note(f"left out {printable(where)}: {printable(problem)}")

    def again(self, where: str, problem: str) -> None:
        """The second reading finds the same ones."""


def _report(args: argparse.Namespace, result: TrainResult, activations: Activations, problems: _Problems) -> None:
    metrics = result.metrics
    last = metrics.get("held_out") or metrics["train"]
    outcome = {
        "out": str(args.out),
        "terms": result.settings.width,
        "items": activations.items,
        "left_out": problems.count,
        "tokens": activations.rows,
        "metrics": metrics,
        "settings": result.settings.to_json(),
    }
    if args.json:
        print_json(outcome)
        return
    rows = [
        ("tokens", f"{activations.rows:,} of {activations.items:,} items"),
        ("left out", f"{problems.count:,} items"),
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
