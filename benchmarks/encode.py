"""Throughput of the encoders alone and with their latent vocabulary, beside sentence-transformers if it is installed.

    python -m benchmarks.encode --texts corpus.jsonl [--images FOLDER] [--st-model FOLDER] [--rounds 7] [--items 200]

All contenders work on the same items in the same process, one after the other, round after round, so that a busy minute
hits all of them. Speeds are medians over rounds; ratios are taken within a round, and their spread is shown. The last
column counts processor time instead of time on the clock: it holds on a machine that others use as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}


class Contender(NamedTuple):
    """Something that turns all items into whatever it makes of them."""

    name: str
    run: Callable[[], object]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    for name in machine.THREADS:
        os.environ.setdefault(f"{name}_NUM_THREADS", str(options.threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    report: dict[str, Any] = {
        "machine": {**machine.describe(), "threads": options.threads},
        "calibration_ms": machine.calibrate(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "settings": {"items": options.items, "rounds": options.rounds, "max_tokens": 512, "batch": options.batch},
    }
    if options.texts is not None:
        report["texts"] = _texts(options)
    if options.images is not None:
        report["images"] = _images(options)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _show(report)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encode", description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, help="lines of text, or JSON lines with 'text' and perhaps 'title'")
    parser.add_argument("--images", type=Path, help="folder of pictures, searched with its subfolders")
    parser.add_argument("--st-model", type=Path, help="all-MiniLM-L6-v2 as a folder of sentence-transformers")
    parser.add_argument("--items", type=int, default=200, help="items, drawn at random (always the same ones)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32, help="batch size of sentence-transformers")
    parser.add_argument("--text-model", default="text-16k")
    parser.add_argument("--image-model", help="by default the shipped one")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args(arguments)
    if options.texts is None and options.images is None:
        parser.error("give --texts, --images or both")
    return options


def _texts(options: argparse.Namespace) -> dict[str, Any]:
    from zipfian.encode import TextEncoder
    from zipfian.vocabulary.sae import SaeVocabulary

    texts = _drawn(_read_texts(options.texts), options.items)
    encoder = TextEncoder(long_texts="cut", threads=options.threads)
    vocabulary = SaeVocabulary.load(options.text_model)
    contenders = _contenders(encoder, vocabulary, texts, options.threads)
    # what goes through the network: the special tokens count
    tokens = sum(min(count, encoder.max_tokens - 2) + 2 for count in encoder.count_tokens(texts))
    peer, note = _sentence_transformers(options, texts)
    if peer is not None:
        contenders.append(peer)
    measured = _measure(contenders, options.rounds, tokens)
    return {"unit": "tokens/s", "items": len(texts), "tokens": tokens, "note": note, **measured}


def _images(options: argparse.Namespace) -> dict[str, Any]:
    from zipfian.encode import ImageEncoder
    from zipfian.vocabulary.models import shipped
    from zipfian.vocabulary.sae import SaeVocabulary

    files = sorted(p for p in options.images.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
    pictures = _drawn(files, options.items)
    encoder = ImageEncoder(threads=options.threads)
    name = options.image_model or next((n for n in shipped() if n.startswith("image")), None)
    vocabulary = None if name is None else SaeVocabulary.load(name)
    contenders = _contenders(encoder, vocabulary, pictures, options.threads)
    note = "" if vocabulary is not None else "no image vocabulary is shipped: encoder only"
    measured = _measure(contenders, options.rounds, len(pictures))
    return {"unit": "images/s", "items": len(pictures), "note": note, **measured}


def _contenders(encoder: Any, vocabulary: Any, items: Sequence[Any], threads: int) -> list[Contender]:
    from zipfian.encode.session import side_by_side

    def with_terms(make: Callable[[Any], object]) -> object:
        """As a collection does it: a pass of the encoder, then every item alone through the vocabulary."""
        return list(side_by_side(make, encoder.encode_documents(items), threads))

    contenders = [Contender("encoder", lambda: encoder.encode_documents(items))]
    if vocabulary is not None:
        contenders.append(Contender(f"encoder + terms (k={vocabulary.k})", lambda: with_terms(vocabulary.terms)))
        contenders.append(Contender("encoder + what the cache keeps", lambda: with_terms(vocabulary.compact)))
    return contenders


def _sentence_transformers(options: argparse.Namespace, texts: list[str]) -> tuple[Contender | None, str]:
    if options.st_model is None:
        return None, "sentence-transformers left out: no --st-model"
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        return None, f"sentence-transformers left out: {error}"
    torch.set_num_threads(options.threads)
    model = SentenceTransformer(str(options.st_model), device="cpu")
    model.max_seq_length = 512
    versions = ", ".join(f"{n} {machine.distribution_version(n)}" for n in ("sentence-transformers", "torch"))

    def run() -> object:
        return model.encode(texts, batch_size=options.batch, normalize_embeddings=True, show_progress_bar=False)

    return Contender("sentence-transformers", run), versions


def _measure(contenders: list[Contender], rounds: int, amount: int) -> dict[str, Any]:
    """Rates by contender, and each one's rate relative to the first within every round."""
    for contender in contenders:
        contender.run()  # loads weights and compiles
    rates: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    work: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        # the order turns, so that nobody always follows the same neighbour
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            start, used = time.perf_counter(), time.process_time()
            contender.run()
            rates[contender.name].append(amount / (time.perf_counter() - start))
            work[contender.name].append(amount / (time.process_time() - used))
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return {"rates": rates, "ratios": _relative(rates), "per_cpu_second": work, "cpu_ratios": _relative(work)}


def _relative(rates: dict[str, list[float]]) -> dict[str, list[float]]:
    first = next(iter(rates.values()))
    return {name: [a / b for a, b in zip(found, first, strict=True)] for name, found in rates.items()}


def _read_texts(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix != ".jsonl":
        return [line for line in lines if line.strip()]
    documents = [json.loads(line) for line in lines if line.strip()]
    return [f"{d.get('title', '')} {d['text']}".strip() for d in documents]


def _drawn(items: list[Any], count: int) -> list[Any]:
    if not items:
        raise SystemExit("nothing to encode was found there")
    return random.Random(1).sample(items, min(count, len(items)))


def _show(report: dict[str, Any]) -> None:
    about = report["machine"]
    print(f"{about['date']}, {about['processor']}, {about['threads']} threads")
    print(f"calibration {report['calibration_ms']:.1f} ms, load before the start {report['load']}")
    for what in ("texts", "images"):
        if what not in report:
            continue
        part = report[what]
        tokens = f", {part['tokens']:,} tokens" if "tokens" in part else ""
        print(f"\n{part['items']} {what}{tokens}. {part['note']}\n")
        print(
            f"| | {part['unit']} | relative to the encoder alone: median (least to most) | the same by processor time |"
        )
        print("|---|---|---|---|")
        for name, rates in part["rates"].items():
            ratios = (_spread(part[which][name]) for which in ("ratios", "cpu_ratios"))
            print(f"| {name} | {statistics.median(rates):,.0f} | {' | '.join(ratios)} |")


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
