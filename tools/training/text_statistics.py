"""What each term means, counted over the training text.

The query table (mean activation of every term per word piece), the strongest firings of every term, the pieces a
term fires on, and in how many paragraphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from texts import Array

from training.codes import Fired
from training.text_encoder import Pieces
from zipfian.vocabulary.topk import top_k

FIXED = 2.0**16
VOCABULARY = 30_522
"""Word pieces of the tokenizer."""
BLOCK = 1 << 20
SPAN_WEIGHT = 8
"""Stretches are the better likeness of a query, the whole text has more of them: rare pieces lean on the text."""


def blocks(fired: Fired) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """(first token, values, terms) of consecutive tokens."""
    values, terms = fired
    for start in range(0, len(values), BLOCK):
        yield start, values[start : start + BLOCK], terms[start : start + BLOCK].long()


class PieceTable:
    """Sums of activations by word piece and term, in fixed point so that the order of additions does not matter."""

    def __init__(self, width: int, k: int, device: Any) -> None:
        self.vocabulary, self.width, self.k = VOCABULARY, width, k
        self.sums = torch.zeros(VOCABULARY * width, dtype=torch.int64, device=device)
        self.count = torch.zeros(VOCABULARY, dtype=torch.int64, device=device)

    @classmethod
    def of(cls, pieces: Pieces, fired: Fired, width: int, k: int) -> PieceTable:
        """The sums over a text."""
        made = cls(width, k, fired[0].device)
        flat = torch.from_numpy(pieces.ids.astype(np.int32)).to(fired[0].device)
        for start, values, terms in blocks(fired):
            made.add(flat[start : start + len(values)].long(), values, terms)
        return made

    def add(self, pieces: torch.Tensor, values: torch.Tensor, terms: torch.Tensor) -> None:
        """Tokens with their pieces and terms."""
        flat = (pieces[:, None] * self.width + terms[:, : self.k]).reshape(-1)
        self.sums.index_add_(0, flat, (values[:, : self.k] * FIXED).round().long().reshape(-1))
        self.count.index_add_(0, pieces, torch.ones_like(pieces))

    def rows(self, count: int) -> tuple[Any, Any]:
        """The strongest terms of every piece and their mean activation."""
        terms, values = [], []
        table = self.sums.view(self.vocabulary, self.width)
        for start in range(0, self.vocabulary, 2_048):
            part = table[start : start + 2_048].float() / FIXED
            seen = self.count[start : start + 2_048].float()[:, None]
            best = top_k(part / seen.clamp(min=1.0), count)
            values.append(best[0])
            terms.append(best[1])
        return torch.cat(terms), torch.cat(values)

    def top_pieces(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """For every term the pieces that give it most activation, and their share of all of it."""
        table = self.sums.view(self.vocabulary, self.width)
        pieces, shares = [], []
        for start in range(0, self.width, 1_024):
            part = table[:, start : start + 1_024].float()
            found = torch.topk(part, min(count, self.vocabulary), dim=0)
            pieces.append(found.indices.T)
            shares.append((found.values / part.sum(dim=0).clamp(min=1.0)).T)
        return torch.cat(pieces), torch.cat(shares)


def firings(fired: Fired, paragraphs: torch.Tensor, width: int, k: int, keep: int) -> dict[str, Array]:
    """The strongest firings of every term: token numbers and strengths, with counts over tokens and paragraphs.

    `paragraphs` is where each paragraph's tokens start, and the total. One sort over all activations does it.
    """
    keys, tokens = [], []
    for first, values, terms in blocks(fired):
        values, terms = values[:, :k], terms[:, :k]
        bits = values.contiguous().view(torch.int32).long()
        keys.append(((terms << 31) | (0x7FFFFFFF - bits)).reshape(-1))
        number = torch.arange(first, first + len(values), device=values.device, dtype=torch.int32)
        tokens.append(number[:, None].expand(-1, values.shape[1]).reshape(-1))
        active = (values > 0).reshape(-1)
        keys[-1], tokens[-1] = keys[-1][active], tokens[-1][active]
    key, order = torch.sort(torch.cat(keys))
    del keys
    token = torch.cat(tokens)[order]
    del tokens, order
    term = key >> 31
    strength = (0x7FFFFFFF - (key & 0x7FFFFFFF)).int().view(torch.float32)
    del key
    count = torch.bincount(term, minlength=width)
    start = torch.cumsum(count, dim=0) - count
    rank = torch.arange(keep, device=term.device)
    index = (start[:, None] + rank).clamp(max=max(0, len(term) - 1))
    there = rank < count[:, None]
    best_token = torch.where(there, token[index], -1)
    best_strength = torch.where(there, strength[index], 0.0)
    del strength
    paragraph = torch.searchsorted(paragraphs, token.long(), right=True) - 1
    pairs = torch.unique(term * len(paragraphs) + paragraph)
    df = torch.bincount(torch.div(pairs, len(paragraphs), rounding_mode="floor"), minlength=width)
    return {
        "firing_tokens": best_token.cpu().numpy().astype(np.int32),
        "firing_strengths": best_strength.cpu().numpy().astype(np.float16),
        "term_count": count.cpu().numpy().astype(np.int32),
        "term_df": df.cpu().numpy().astype(np.int32),
    }


class Tables(NamedTuple):
    """Query tables by name, largest first, and the sums over the text they were made from."""

    rows: dict[str, tuple[torch.Tensor, torch.Tensor]]
    pieces: PieceTable


def make_tables(texts: tuple[Pieces, Fired], spans: tuple[Pieces, Fired], width: int, k: int) -> Tables:
    """Tables of the whole text at k and at 4 terms a piece, of stretches, and of both together."""
    sums = {
        f"text{k}": PieceTable.of(*texts, width, k),
        "text4": PieceTable.of(*texts, width, 4),
        f"span{k}": PieceTable.of(*spans, width, k),
    }
    text, span = sums[f"text{k}"], sums[f"span{k}"]
    rows = {name: table.rows(16) for name, table in sums.items()}
    both = PieceTable(width, k, text.sums.device)
    both.sums = text.sums + SPAN_WEIGHT * span.sums
    both.count = text.count + SPAN_WEIGHT * span.count
    rows[f"both{k}"] = both.rows(16)
    return Tables(rows, text)


def save_statistics(
    fired: Fired, pieces: Pieces, table: PieceTable, target: Path, k: int, keep: int, extra: dict[str, Array]
) -> None:
    """Strongest firings, counts, document frequencies and pieces of every term, and what else is given."""
    from safetensors.numpy import save_file

    paragraphs = torch.from_numpy(pieces.indptr.copy()).to(fired[0].device)
    tensors = firings(fired, paragraphs, table.width, k, keep)
    top, shares = table.top_pieces(16)
    tensors["top_pieces"] = top.cpu().numpy().astype(np.uint16)
    tensors["top_piece_shares"] = shares.cpu().numpy().astype(np.float16)
    tensors["piece_count"] = table.count.cpu().numpy().astype(np.int32)
    tensors["paragraph_tokens"] = np.diff(pieces.indptr).astype(np.uint16)
    save_file(tensors | extra, target)
