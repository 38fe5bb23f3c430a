"""Autoencoders by many recipes on the same text, measured alike, on one GPU: what of a vocabulary matters.

    PYTHONPATH=src python3 tools/train_recipes.py --prepared FILE --model FOLDER --collections FOLDER --out OUT

FILE is what `teach_vocabulary.py prepare` wrote: paragraphs without the held-out tenth. Every vocabulary is measured
in three uses: the paper's (k of the training, all terms, sum, BM25 k1=8 b=.7 sqrt), the same with the maximum, and the
package's (3 terms a piece, the 250 heaviest, k1=4 b=.7 power .65). No use is tuned to a recipe.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from teach_vocabulary import means, read_prepared
from training.codes import by_item, codes_of, quantise_in_place
from training.plan import Clock, planned
from training.ranking import Scoring, impacts, postings, stored
from training.text_encoder import Collection, MiniLM, Pieces, hidden_states, read_collection
from training.text_uses import measure
from training.variants import train_variant

from zipfian.train.sae import TrainResult, reconstruction, train_sae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

DONE = {(8, 16384), (16, 32768)}
"""Of the grid of k and terms, what the plan begins with."""
PLAN = (
    "k8-s0", "k8-s1", "k8-s2", "k8-s3", "k8-s4", "k16-w32768-s0",
    *(f"k{k}-w{w}-s0" for w in (4096, 8192, 16384, 32768) for k in (4, 8, 16, 32) if (k, w) not in DONE),
    "w6144-k16-s0", "w6144-k16-s0@l1:3", "w6144-k16-s0@l1:10", "k8-s0@batch", "k8-s0@jump:8",
    "k8-s0@layer:0", "k8-s0@layer:2", "k8-s0@layer:4", "k8-s0@random",
)  # fmt: skip
"""Settings as `planned` reads them; behind @ another kind of autoencoder or another source of vectors."""
LAST = 6


@dataclass(frozen=True)
class Use:
    """How documents and queries are made of a vocabulary."""

    name: str
    k: int | None
    """Terms of a piece; None: as trained."""
    k_post: int | None
    pooling: str
    scoring: Scoring


USES = (
    Use("paper", None, None, "sum", Scoring(8.0, 0.7, 0.5)),
    Use("paper, max", None, None, "max", Scoring(8.0, 0.7, 0.5)),
    Use("package", 3, 250, "sum", Scoring(4.0, 0.7, 0.65)),
)


def untrained(model: MiniLM, seed: int) -> MiniLM:
    """The same network with weights as BERT starts from: what structure alone gives."""
    generator = torch.Generator(device=model.device).manual_seed(seed)
    for name, value in model.w.items():
        if name.endswith("LayerNorm.weight"):
            value.fill_(1.0)
        elif name.endswith("bias"):
            value.zero_()
        else:
            value.copy_(torch.randn(value.shape, generator=generator, device=model.device) * 0.02)
    return model


class Vectors:
    """Hidden states of one layer: of the training text in half precision, of the collections in full."""

    def __init__(self, args: argparse.Namespace, pieces: Pieces, collections: list[Collection], where: str) -> None:
        block = LAST - 1 if where in ("", "random") else int(where.removeprefix("layer:"))
        cuda = args.device.startswith("cuda")
        half = torch.float16 if cuda else torch.float32

        def model(kind: torch.dtype) -> MiniLM:
            found = MiniLM(args.model, args.device, kind)
            return untrained(found, 0) if where == "random" else found

        (states,), _ = hidden_states(model(half), pieces, (block,), store=half, batch_tokens=args.batch_tokens)
        self.source = MemorySource(states)
        exact = model(torch.float32)
        self.tests = [
            (
                collection,
                *(
                    hidden_states(exact, part, (block,), store=torch.float32, batch_tokens=args.batch_tokens)[0][0]
                    for part in (collection.documents, collection.queries)
                ),
            )
            for collection in collections
        ]


def trained(name: str, vectors: Vectors, base: SaeSettings, device: str) -> TrainResult:
    """The autoencoder of a line of the plan."""
    settings, _, other = name.partition("@")
    wanted = planned(settings.split("-"), base)
    kind, _, penalty = other.partition(":")
    if kind in ("l1", "batch", "jump"):
        with torch.enable_grad():
            return train_variant(vectors.source, wanted, kind, float(penalty or 0.0), device)  # type: ignore[arg-type]
    return train_sae(vectors.source, wanted, device=device)


def measured(result: TrainResult, vectors: Vectors) -> dict[str, Any]:
    """Every use on every collection."""
    found: dict[str, Any] = {}
    width = result.settings.width
    for collection, documents, queries in vectors.tests:
        most = max(result.settings.k, 3)
        codes, asked = (
            by_item(codes_of(result, MemorySource(states), most), pieces.indptr)
            for states, pieces in ((documents, collection.documents), (queries, collection.queries))
        )
        for use in USES:
            k = use.k or result.settings.k
            kept = stored(codes.pooled(k, width, use.pooling), use.k_post)
            scores = measure(asked.pooled(k, width, use.pooling), impacts(kept, use.scoring), collection, use.scoring)
            by = found.setdefault(use.name, {"by": {}})["by"]
            by[collection.name] = {**scores, "postings": postings(kept)}
    for use_found in found.values():
        use_found |= means(use_found["by"])
    return found


def run(args: argparse.Namespace) -> None:
    clock = Clock(args.budget)
    args.out.mkdir(parents=True, exist_ok=True)
    pieces, _, _ = read_prepared(args.prepared, args.limit)
    collections = [
        read_collection(folder, args.model / "tokenizer.json", 25 if args.tiny else None)
        for folder in sorted(path.parent for path in args.collections.glob("*/corpus.jsonl"))
    ]
    base = SaeSettings(epochs=args.epochs, k=8)
    if args.tiny:
        base = SaeSettings(epochs=1.0, k=4, width=256, batch=128)
    rows: list[dict[str, Any]] = []
    vectors, at = Vectors(args, pieces, collections, ""), ""
    clock.say("encoded")
    for name in args.plan or PLAN:
        if clock.left() < args.least:
            clock.say(f"{name}: no time left")
            continue
        _, _, other = name.partition("@")
        where = other if other == "random" or other.startswith("layer:") else ""
        if where != at:
            del vectors
            vectors, at = Vectors(args, pieces, collections, where), where
        result = trained(name, vectors, base, args.device)
        quantise_in_place(result)
        rest = vectors.source.sample(65_536, 99, args.device)
        found = measured(result, vectors)
        rows.append(
            {
                "name": name, "settings": result.settings.to_json(), "seconds": result.metrics["seconds"],
                "tokens": result.metrics["tokens"], "fvu": reconstruction(result, rest)["fvu"],
                "active": result.metrics.get("active", float(result.settings.k)), "uses": found,
            }
        )  # fmt: skip
        shown = "  ".join(
            f"{use}: {s['all']:.4f} sf {s['by'].get('scifact', {'all': 0})['all']:.4f} "
            f"{next(iter(s['by'].values()))['postings']:.0f}p"
            for use, s in found.items()
        )
        clock.say(
            f"{name:<20} {rows[-1]['seconds']:5.1f} s fvu {rows[-1]['fvu']:.3f} l0 {rows[-1]['active']:.1f} | {shown}"
        )
        (args.out / "recipes.json").write_text(json.dumps({"epochs": base.epochs, "rows": rows}, indent=1))
    clock.say("done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("prepared", "model", "collections", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch-tokens", type=int, default=131_072)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--limit", type=int, help="paragraphs to learn from")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds")
    parser.add_argument("--least", type=float, default=25.0, help="seconds that a recipe needs at least")
    parser.add_argument("--plan", nargs="*")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    args = parser.parse_args()
    if args.tiny:
        args.limit, args.batch_tokens = 25, 4_096
    with torch.no_grad():
        run(args)


if __name__ == "__main__":
    main()
