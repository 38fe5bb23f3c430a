"""Train alignment heads and the translation table on captioned pictures, choosing settings on the dev split.

    PYTHONPATH=src python3 tools/train_align.py --weights model.safetensors --model FOLDER --vocabulary FOLDER \
        --images FOLDER --captions captions.jsonl --out OUT --budget 300

Needs torch, tokenizers, safetensors, Pillow and numpy. Captions are lines of {"image", "split", "captions"}; splits
train and extra train, dev chooses, test is measured once, at the end. `--tiny` rehearses it on a CPU.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from training.align_data import Coder, Flickr, count_words, load_flickr, load_words, save_features, save_words
from training.align_table import choose_table, fused, table_scores
from training.plan import Clock

from zipfian.train.align import AlignResult, CaptionedImages, train_heads
from zipfian.train.align_export import save_alignment
from zipfian.train.align_measure import named
from zipfian.train.align_settings import AlignSettings
from zipfian.train.passes import score_recalls

BASE = AlignSettings(dim=128, hidden=256, word_rank=192, term_rank=0, batch=1_024, epochs=40, patience=10)
STEPS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("term_rank", (32,)),
    ("dropout", (0.4, 0.55, 0.7)),
    ("whole_share", (0.15, 1.0)),
    ("hidden_dropout", (0.5,)),
    ("lr", (5e-4, 2e-3)),
    ("batch", (384, 3_000)),
    ("weight_decay", (0.5,)),
    ("smoothing", (0.1,)),
    ("word_rank", (128,)),
    ("hidden", (512,)),
    ("averaging", (0.997,)),
)
"""Settings tried one after the other, each from the best so far; `--reserve 1e9` skips the search."""


def plain(data: CaptionedImages, settings: AlignSettings) -> CaptionedImages:
    return data if settings.term_rank else replace(data, terms=None)


class Search:
    """Trains, remembers, and keeps what is best on dev."""

    def __init__(self, flickr: Flickr, args: argparse.Namespace, clock: Clock) -> None:
        self.flickr, self.args, self.clock = flickr, args, clock
        self.tried: list[dict[str, Any]] = []

    def train(self, settings: AlignSettings) -> AlignResult:
        parts = self.flickr.parts
        result = train_heads(
            plain(parts["train"], settings), plain(parts["dev"], settings), settings, device=self.args.device
        )
        self.tried.append({"settings": settings.to_json(), "best": asdict(result.best), "score": result.best.score})
        return result

    def climb(self, settings: AlignSettings) -> AlignSettings:
        best = self.mean(settings)
        self.clock.say(f"start {best:.4f}")
        for name, values in STEPS:
            for value in values:
                if self.clock.left() < self.args.reserve:
                    return settings
                tried = replace(settings, **{name: value})
                score = self.mean(tried)
                self.clock.say(f"{name}={value}: {score:.4f}" + (" kept" if score > best else ""))
                if score > best:
                    best, settings = score, tried
        return settings

    def mean(self, settings: AlignSettings) -> float:
        """Of two seeds, so that luck decides less."""
        return float(np.mean([self.train(replace(settings, seed=seed)).best.score for seed in (0, 1)]))


def scores_of(results: list[AlignResult], data: CaptionedImages) -> torch.Tensor:
    """Mean cosine over members, pictures x captions."""
    total: Any = 0
    for result in results:
        images, texts = result.vectors(plain(data, result.settings))
        total = total + images @ texts.T
    return total / len(results)


def recalls_of(scores: torch.Tensor, other: torch.Tensor | None = None) -> dict[str, float]:
    """R@1, 5 and 10 of both directions from a matrix of pictures x captions, or one matrix for each direction."""
    t2i, i2t = score_recalls(scores)
    return named((t2i, i2t if other is None else score_recalls(other)[1]))


def show(name: str, found: dict[str, float]) -> str:
    return f"{name:<28}" + " ".join(f"{key} {value:.4f}" for key, value in found.items())


def run(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    words = load_words(args.words) if args.words else count_words(
        [json.loads(line) for line in args.captions.open(encoding="utf-8")], args.least
    )  # fmt: skip
    if args.save_words:
        save_words(words, args.save_words)
        return
    coder = Coder(args.vocabulary, args.device)
    flickr = load_flickr(args, words, coder, lambda text: print(text, flush=True))
    clock = Clock(args.budget)
    search = Search(flickr, args, clock)
    settings = search.climb(replace(BASE, **args.change))
    clock.say(f"chosen: {settings}")
    if args.save_features:
        save_features(flickr, args.save_features)
    report: dict[str, Any] = {"settings": settings.to_json(), "dev": {}, "test": {}, "tried": search.tried}
    members = [search.train(replace(settings, seed=seed)) for seed in range(args.members)]
    large = search.train(replace(settings, dim=512, hidden=2 * settings.hidden))
    families = {"one": members[:1], "two": members[:2], "members": members, "large": [large]}
    for name, family in families.items():
        report["dev"][name] = recalls_of(scores_of(family, flickr.parts["dev"]))
        clock.say(show(f"dev {name}", report["dev"][name]))
    table, chosen = choose_table(flickr, coder, recalls_of, clock.say)
    report["table"] = chosen
    dev_table = table_scores(table, flickr, "dev", coder, chosen)
    heads = scores_of(members, flickr.parts["dev"])
    weights = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
    mixed = {weight: recalls_of(*fused(heads, dev_table, weight)) for weight in weights}
    weight = max(weights, key=lambda w: mixed[w]["t2i_r@10"] + mixed[w]["i2t_r@10"])
    report["dev"] |= {"table": recalls_of(dev_table), "fused": mixed[weight]}
    report["fusion_weight"] = weight
    # The test split is looked at here, once, for what was chosen above.
    heads, test_table = (
        scores_of(members, flickr.parts["test"]),
        table_scores(table, flickr, "test", coder, chosen),
    )
    report["test"] = {
        "heads": recalls_of(heads), "one": recalls_of(scores_of(members[:1], flickr.parts["test"])),
        "table": recalls_of(test_table), "fused": recalls_of(*fused(heads, test_table, weight)),
    }  # fmt: skip
    for split in ("dev", "test"):
        for name, found in report[split].items():
            clock.say(show(f"{split} {name}", found))
    info = {"name": args.out.name, "terms": coder.settings, "words_fingerprint": words.fingerprint, "table": chosen,
            "fusion_weight": weight, "dev": report["dev"], "test": report["test"]}  # fmt: skip
    save_alignment(
        members, args.out / "heads", words=words.words, idf=words.idf, term_idf=flickr.term_idf.cpu().numpy(),
        table=table, info=info,
    )  # fmt: skip
    (args.out / "trials.json").write_text(json.dumps(report))
    clock.say(f"{(args.out / 'heads' / 'align.safetensors').stat().st_size / 1e6:.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="EfficientNet-Lite2 as safetensors")
    parser.add_argument("--model", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--vocabulary", type=Path, required=True, help="folder of the image vocabulary")
    parser.add_argument("--images", type=Path, action="append", required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--words", type=Path, help="words counted before, for machines without a stemmer")
    parser.add_argument("--save-words", type=Path, help="only count the words, into this file")
    parser.add_argument("--save-features", type=Path, help="a folder for pooled vectors of all splits")
    parser.add_argument("--least", type=int, default=4, help="training captions that must use a word")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--views", type=int, default=8)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--change", type=json.loads, default={}, help="settings to start from, as JSON")
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--reserve", type=float, default=80.0)
    parser.add_argument("--picture-batch", type=int, default=128)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        args.limit, args.views, args.members, args.picture_batch, args.reserve = 40, 3, 2, 8, 1e9
        args.change = {"epochs": 2, "dim": 16, "hidden": 16, "word_rank": 16}
    run(args)


if __name__ == "__main__":
    main()
