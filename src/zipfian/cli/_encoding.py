"""Before encoders start: their weights are fetched with a bar, and what the work will come to is said."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zipfian.cli._arguments import refuse
from zipfian.cli._output import Progress, human_bytes, human_seconds, note
from zipfian.device import CPU
from zipfian.errors import InvalidInput, WeightsNotFound, ZipfianError
from zipfian.ingest.source import SAMPLE_CHARS, Survey

if TYPE_CHECKING:
    from zipfian.encode.models import Model
    from zipfian.fields import Field
    from zipfian.fields.reader import Reader

PROBE_TEXTS = 24
PROBE_PICTURES = 4
"""Items encoded to learn how fast this machine is."""
SMALL_TOKENS = 20_000
SMALL_PICTURES = 20
"""Less than this takes seconds anyway."""
SMALL_SHARE = 0.01

ADVICE = (
    "without a network: copy the weights here and run 'zipfian weights get --from DIR'; words need none: --fields words"
)


@dataclass(frozen=True, slots=True)
class Work:
    """What one encoder has to do, judged by a sample."""

    what: str
    items: int
    tokens: int
    nbytes: int
    """Of the cache, for all of it."""
    known: float
    """Share that the cache has from before."""
    seconds: float | None
    """For the rest; None: too little to be worth measuring."""
    device: str = CPU
    """Where it runs. On a GPU nothing is timed or cached: a few texts say nothing of thousands at a time."""

    def __str__(self) -> str:
        items, unit = self.items, "patches" if self.what == "picture" else "tokens"
        took = "seconds" if self.seconds is None else f"about {human_seconds(self.seconds)}"
        amount = f"{items:,} {self.what}{'s' * (items != 1)}, about {self.tokens:,} {unit}"
        if self.known >= SMALL_SHARE:
            amount += f", {100 * self.known:.0f} % of them in the cache from before"
        if self.device != CPU:
            return f"encoding {amount}, on {self.device}"
        return f"encoding {amount}: {took}; the cache keeps about {human_bytes(self.nbytes)}"


def check_device(args: argparse.Namespace) -> None:
    """What can be wrong with --device and --precision is said before a source is read."""
    from zipfian.device import checked_device

    if args.device is None:
        refuse(args, ["precision"], "is for encoders on a GPU: name one with --device")
        return
    args.device = checked_device(args.device, "--device")
    if args.device == "cpu" and args.precision is not None:
        raise InvalidInput(f"--precision {args.precision} is for encoders on a GPU, and these run on the processor")


def place(fields: Iterable[Field], args: argparse.Namespace) -> None:
    """Have the encoders of the fields run where --device says; which of them cannot is said."""
    from zipfian.encode.registry import move

    if args.device in (None, "cpu"):
        return
    for spec in dict.fromkeys(field.encoder for field in fields if field.encoder is not None):
        if not move(spec, args.device, args.precision or "float32"):
            note(f"{spec.fingerprint.partition(':')[0]} runs on the processor: it has no code for a GPU")


def fetch_weights(fields: Iterable[Field], advice: str = ADVICE, *, asked: bool = False) -> None:
    """Get the weights that the fields need and the cache has not: for documents, or for a query when `asked`."""
    from zipfian.encode import weights

    for model in _models(fields, asked):
        if _is_here(model):
            continue
        size = sum(file.size for file in model.files)
        note(f"fetching the weights of {model.name} once, {human_bytes(size)} ...")
        with Progress(f"fetching {model.name}, byte") as bar:

            def step(done: int, total: int, bar: Progress = bar) -> None:
                bar.total = total
                bar.step(done - bar.done)

            try:
                weights.get(model, progress=step)
            except WeightsNotFound:
                note(advice)
                raise


def _models(fields: Iterable[Field], asked: bool) -> list[Model]:
    from zipfian.encode.registry import weights_of

    specs = (field.asked_through if asked else field.encoder for field in fields)
    models = (weights_of(spec) for spec in specs if spec is not None)
    return list({model.name: model for model in models if model is not None}.values())


def _is_here(model: Model) -> bool:
    """By name only: the encoder compares every hash when it loads them."""
    from zipfian.encode import converted, models, weights

    if model is models.EFFICIENTNET_LITE2 and converted.path().is_file():
        return True
    return all(weights.path_of(model, file).is_file() for file in model.files)


def estimate(fields: Mapping[str, Field], survey: Survey, some_pictures: Sequence[str] = ()) -> list[Work]:
    """What each encoder will have to do, judged by a sample; a few items are encoded to learn the speed."""
    from zipfian.encode.registry import find

    by_encoder: dict[str, tuple[Any, list[Reader]]] = {}
    for name, field in fields.items():
        if field.encoder is not None and (reader := field.reader(name)) is not None:
            by_encoder.setdefault(field.encoder.fingerprint, (find(field.encoder), []))[1].append(reader)
    out: list[Work] = []
    for encoder, readers in by_encoder.values():
        if encoder.kind == "text" and survey.sample:
            out.append(_work(encoder, readers, "text", survey.texts, survey.sample, survey.chars))
        elif encoder.kind == "image" and survey.pictures and some_pictures:
            out.append(_work(encoder, readers, "picture", survey.pictures, some_pictures, 0))
    return out


def _work(
    encoder: Any, readers: Sequence[Reader], what: str, items: int, sample: Sequence[str], chars: int
) -> Work:  # fmt: skip
    from zipfian.encode.base import at_once
    from zipfian.encode.cache import ENTRY_BYTES

    counted = sum(encoder.count_tokens(sample))
    tokens = counted * chars // max(1, sum(map(len, sample))) if what == "text" else counted * items // len(sample)
    per_token = sum(reader.token_bytes for reader in readers)
    nbytes = tokens * per_token + items * (ENTRY_BYTES + 4 * encoder.pooled_dim)
    known = _known(readers, encoder, [item for item in sample if what == "picture" or len(item) < SAMPLE_CHARS])
    rest = round(tokens * (1 - known))
    large = items * (1 - known) > SMALL_PICTURES if what == "picture" else rest > SMALL_TOKENS
    if at_once(encoder) > 1:
        return Work(what, items, tokens, 0, known, None, encoder.device)
    return Work(what, items, tokens, nbytes, known, _seconds(readers, encoder, sample, rest) if large else None)


def _known(readers: Sequence[Reader], encoder: Any, sample: Sequence[str]) -> float:
    """The share of a sample that the user's cache has for all of these fields."""
    from zipfian.encode.base import cache_key
    from zipfian.encode.cache import EncodingCache, content_hash

    cache = EncodingCache()
    forms = {form for reader in readers for form in reader.makers}
    found = 0
    for item in sample:
        try:
            content = content_hash(item, encoder.kind)
        except (OSError, ZipfianError):
            continue
        found += all(cache.get(cache_key(encoder, form), content) is not None for form in forms)
    return found / len(sample) if sample else 0.0


def _seconds(readers: Sequence[Reader], encoder: Any, sample: Sequence[Any], tokens: int) -> float | None:
    """How long so many tokens take here, by the clock; unreadable items of the sample do not count."""
    from zipfian.encode.session import side_by_side

    few = PROBE_PICTURES if encoder.kind == "image" else PROBE_TEXTS
    chosen = random.Random(1).sample(list(sample), min(few, len(sample)))
    makers = [make for reader in readers for make in reader.makers.values()]
    threads = getattr(encoder, "threads", 1)

    def read(outcome: Any) -> int:
        if isinstance(outcome, ZipfianError | OSError):
            return 0
        for make in makers:
            make(outcome)
        return len(outcome.vectors)

    seconds, done = 0.0, 0
    for part in (chosen[:1], chosen):  # the first pass loads weights and kernels; the second is the one that counts
        start = time.perf_counter()
        done = sum(side_by_side(read, encoder.try_documents(part), threads))
        seconds = time.perf_counter() - start
    return seconds / done * tokens if done else None
