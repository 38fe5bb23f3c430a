"""What a teacher thinks of questions and paragraphs: rankings fused from words, latent terms and a dense encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from training.codes import Codes
from training.ranking import Scoring, heaviest, idf
from training.text_encoder import Pieces

Leg = Callable[[int, int], torch.Tensor]
"""Scores of questions start to stop against all paragraphs."""
WORDS = Scoring(k1=1.2, b=0.75, power=1.0)
TOP = 200
"""So many of a ranking say how its scores are spread."""


class Lessons(NamedTuple):
    """Paragraphs to compare for every question, best first, and how good the teacher finds them."""

    candidates: torch.Tensor
    scores: torch.Tensor


def term_table(
    documents: Codes, width: int, k: int, k_post: int | None, scoring: Scoring,
    keep: Callable[[torch.Tensor, int | None], torch.Tensor] = heaviest,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Items x terms: BM25's part of every posting without idf, in half precision on a GPU; and the idf of the terms."""
    device = documents.values.device
    low = torch.bfloat16 if device.type == "cuda" else torch.float32
    table = torch.zeros(documents.items, width, dtype=low, device=device)
    df = torch.zeros(width, device=device)
    blocks = list(_blocks(documents, 8_192))
    lengths = torch.cat([keep(part.pooled(k, width), k_post).pow(scoring.power).sum(dim=1) for _, part in blocks])
    for start, part in blocks:
        tf = keep(part.pooled(k, width), k_post)
        df += (tf > 0).sum(dim=0)
        tf = tf.pow(scoring.power)
        norm = scoring.k1 * (1.0 - scoring.b + scoring.b * lengths[start : start + part.items] / lengths.mean())
        table[start : start + part.items] = (tf * (scoring.k1 + 1.0) / (tf + norm[:, None])).to(low)
    return table, idf(df, documents.items)


def term_leg(documents: Codes, questions: Codes, width: int, k: int, k_post: int | None, scoring: Scoring) -> Leg:
    """BM25 over terms (or word pieces) as a dense product: small enough for one GPU's memory."""
    table, worth = term_table(documents, width, k, k_post, scoring)

    def scores(start: int, stop: int) -> torch.Tensor:
        asked = scoring.asked(_some(questions, start, stop).pooled(k, width)) * worth
        return (asked.to(table.dtype) @ table.T).float()

    return scores


def dense_leg(documents: torch.Tensor, questions: torch.Tensor) -> Leg:
    """Cosines of vectors of length 1."""
    return lambda start, stop: (questions[start:stop] @ documents.T).float()


def piece_codes(pieces: Pieces, device: torch.device) -> Codes:
    """Word pieces as terms of weight 1."""
    ids = torch.from_numpy(pieces.ids.astype(np.int32))[:, None].to(device)
    owner = torch.from_numpy(np.repeat(np.arange(len(pieces.indptr) - 1), np.diff(pieces.indptr))).to(device)
    return Codes(torch.ones(ids.shape, device=device), ids, owner, len(pieces.indptr) - 1)


def lessons(
    legs: Sequence[tuple[float, Leg]], sources: torch.Tensor, *, top: int, far: int, depth: int, seed: int,
    block: int = 1_024,
) -> Lessons:  # fmt: skip
    """For every question the best `top` paragraphs and `far` drawn from the next ones down to `depth`.

    The paragraph a question was cut from is left out: it holds the very words, and would teach nothing but that.
    """
    device = sources.device
    generator = torch.Generator(device=device).manual_seed(seed)
    candidates, found = [], []
    for start in range(0, len(sources), block):
        stop = min(start + block, len(sources))
        total = torch.zeros(0, device=device)
        for weight, leg in legs:
            scores = leg(start, stop)
            scores.scatter_(1, sources[start:stop, None], -1e9)
            best = torch.topk(scores, min(TOP, scores.shape[1] - 1), dim=1).values
            spread = best.std(dim=1, keepdim=True).clamp(min=1e-6)
            z = (torch.maximum(scores, best[:, -1:]) - best.mean(dim=1, keepdim=True)) / spread
            total = weight * z if not len(total) else total + weight * z
        total.scatter_(1, sources[start:stop, None], -1e9)
        ranked = torch.topk(total, min(depth, total.shape[1] - 1), dim=1)
        later = top + torch.rand(stop - start, ranked.indices.shape[1] - top, generator=generator, device=device).topk(
            far, dim=1
        ).indices.sort(dim=1).values  # fmt: skip
        place = torch.cat([torch.arange(top, device=device).expand(stop - start, -1), later], dim=1)
        candidates.append(ranked.indices.gather(1, place).int())
        found.append(ranked.values.gather(1, place).half())
    return Lessons(torch.cat(candidates), torch.cat(found))


def _blocks(codes: Codes, size: int) -> list[tuple[int, Codes]]:
    return [(start, _some(codes, start, min(start + size, codes.items))) for start in range(0, codes.items, size)]


def _some(codes: Codes, start: int, stop: int) -> Codes:
    """The items start to stop; tokens lie in the order of their items."""
    low, high = torch.searchsorted(codes.item, torch.tensor([start, stop], device=codes.item.device)).tolist()
    return Codes(codes.values[low:high], codes.terms[low:high], codes.item[low:high] - start, stop - start)
