"""Part of train_text_vocabulary.py: from hidden states to terms, and the query tables they give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from train_plan import planned
from train_text_encode import Collection, Pieces
from train_text_eval import K_MAX
from train_text_stats import PieceTable

from zipfian.train._torch import matmul_precision
from zipfian.train.sae import TrainResult
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource
from zipfian.vocabulary._sae_weights import quantise

LAYERS = (-2, -1)
JOINED: dict[str, tuple[tuple[int, float], ...]] = {
    "l1": ((-1, 1.0),),
    "l2": ((-2, 1.0),),
    "cat": ((-2, 0.5), (-1, 1.0)),
}
VOCABULARY = 30_522


class Item(NamedTuple):
    """One training of the plan."""

    name: str
    layers: str
    settings: SaeSettings


def plan_item(name: str, base: SaeSettings) -> Item:
    """`LAYERS-kK-sSEED[-eEPOCHS][-wWIDTH][-bBATCH][-lrX][-noaux]`, such as `cat-k16-s0-e6`."""
    layers, *parts = name.split("-")
    return Item(name, layers, planned(parts, base))


class Corpus(NamedTuple):
    """Training text on the device."""

    pieces: Pieces
    states: dict[int, torch.Tensor]
    spans: Pieces
    span_states: dict[int, torch.Tensor]
    sha256: str


class Test(NamedTuple):
    """A collection with its hidden states."""

    collection: Collection
    documents: dict[int, torch.Tensor]
    queries: dict[int, torch.Tensor]


def joined(states: dict[int, torch.Tensor], layers: str) -> MemorySource:
    chosen = JOINED[layers]
    return MemorySource(*(states[layer] for layer, _ in chosen), factors=[factor for _, factor in chosen])


@torch.no_grad()
def codes_of(
    result: TrainResult, source: MemorySource, k: int, *, precision: str = "float32", block: int = 16_384
) -> tuple[Any, Any]:
    """Values and terms of all rows of a source."""
    device = result.sae.device
    values = torch.empty(source.rows, k, device=device)
    terms = torch.empty(source.rows, k, dtype=torch.int32, device=device)
    with matmul_precision(precision, device):
        for start in range(0, source.rows, block):
            rows = source.take(torch.arange(start, min(source.rows, start + block), device=device), device)
            part = result.sae.activations(result.normalise(rows), k)
            values[start : start + block], terms[start : start + block] = part
    return values, terms


def quantise_in_place(result: TrainResult) -> None:
    steps, step = quantise(result.sae.encoder.cpu().numpy())
    result.sae.encoder.copy_(torch.from_numpy(steps.astype(np.float32) * step[:, None]))


class Tables(NamedTuple):
    """Query tables by name, largest first, and what they were made from."""

    rows: dict[str, tuple[torch.Tensor, torch.Tensor]]
    pieces: PieceTable


def make_tables(codes: tuple[Any, Any], span_codes: tuple[Any, Any], corpus: Corpus, width: int) -> Tables:
    device = codes[0].device
    sums = {"text16": PieceTable(VOCABULARY, width, K_MAX, device), "text4": PieceTable(VOCABULARY, width, 4, device)}
    sums["span16"] = PieceTable(VOCABULARY, width, K_MAX, device)
    for names, pieces, (values, terms) in (
        (("text16", "text4"), corpus.pieces, codes), (("span16",), corpus.spans, span_codes),
    ):  # fmt: skip
        flat = torch.from_numpy(pieces.ids.astype(np.int32)).to(device)
        for start in range(0, len(values), 1 << 20):
            part = slice(start, start + (1 << 20))
            for name in names:
                sums[name].add(flat[part].long(), values[part], terms[part].long())
    rows = {name: table.rows(16) for name, table in sums.items()}
    text, span = sums["text16"], sums["span16"]
    # Spans are the better likeness of a query, the whole text has more of them: rare pieces lean on the text.
    both = PieceTable(VOCABULARY, width, K_MAX, device)
    both.sums = text.sums + 8 * span.sums
    both.count = text.count + 8 * span.count
    rows["both16"] = both.rows(16)
    return Tables(rows, text)
