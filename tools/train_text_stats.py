"""Part of train_text_vocabulary.py: what each term means, counted over the training text.

The query table (mean activation of every term per word piece), the strongest firings of every term, the pieces a
term fires on, and in how many paragraphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from zipfian.train.topk import top_k

Codes = Callable[[], Iterator[tuple[int, torch.Tensor, torch.Tensor]]]
"""Gives (first token, values, terms) of consecutive tokens, strongest terms first."""
FIXED = 2.0**16


class PieceTable:
    """Sums of activations by word piece and term, in fixed point so that the order of additions does not matter."""

    def __init__(self, vocabulary: int, width: int, k: int, device: Any) -> None:
        self.vocabulary, self.width, self.k = vocabulary, width, k
        self.sums = torch.zeros(vocabulary * width, dtype=torch.int64, device=device)
        self.count = torch.zeros(vocabulary, dtype=torch.int64, device=device)

    def add(self, pieces: torch.Tensor, values: torch.Tensor, terms: torch.Tensor) -> None:
        flat = (pieces[:, None] * self.width + terms[:, : self.k]).reshape(-1)
        self.sums.index_add_(0, flat, (values[:, : self.k] * FIXED).round().long().reshape(-1))
        self.count.index_add_(0, pieces, torch.ones_like(pieces))

    def rows(self, count: int, prior: torch.Tensor | None = None, strength: float = 0.0) -> tuple[Any, Any]:
        """The strongest terms of every piece and their mean activation; `prior` rows stand in for rare pieces."""
        terms, values = [], []
        table = self.sums.view(self.vocabulary, self.width)
        for start in range(0, self.vocabulary, 2_048):
            part = table[start : start + 2_048].float() / FIXED
            seen = self.count[start : start + 2_048].float()[:, None]
            if prior is not None:
                part = part + strength * prior[start : start + 2_048]
                seen = seen + strength
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


def firings(codes: Codes, paragraphs: torch.Tensor, width: int, k: int, keep: int) -> dict[str, np.ndarray]:
    """The strongest firings of every term: token numbers and strengths, with counts over tokens and paragraphs.

    `paragraphs` is where each paragraph's tokens start, and the total. One sort over all activations does it.
    """
    keys, tokens = [], []
    for first, values, terms in codes():
        values, terms = values[:, :k], terms[:, :k]
        bits = values.contiguous().view(torch.int32).long()
        keys.append(((terms << 31) | (0x7FFFFFFF - bits)).reshape(-1))
        number = torch.arange(first, first + len(values), device=values.device, dtype=torch.int32)
        tokens.append(number[:, None].expand(-1, values.shape[1]).reshape(-1))
        fired = (values > 0).reshape(-1)
        keys[-1], tokens[-1] = keys[-1][fired], tokens[-1][fired]
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
