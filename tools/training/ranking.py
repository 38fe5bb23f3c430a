"""How well do terms retrieve? BM25 over dense matrices of small collections, and what is measured of a ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from texts import Array

from zipfian.evaluate.datasets.base import half_of


class Scoring(NamedTuple):
    """BM25 over transformed weights; a binary query counts each of its terms once."""

    k1: float = 8.0
    b: float = 0.7
    power: float = 0.5
    binary: bool = False

    def asked(self, queries: torch.Tensor) -> torch.Tensor:
        """What a query's terms weigh."""
        return (queries > 0).float() if self.binary else queries.pow(self.power)


def even(names: Sequence[str]) -> Array:
    """Half of the queries choose settings, the other half reports: by the last bit of the name's sha1."""
    return np.array([half_of(name) == "even" for name in names], np.bool_)


def halves(found: Array, of_even: Array) -> dict[str, float]:
    """The mean of a measure over all queries, and over both halves."""
    return {
        "all": float(found.mean()),
        "even": float(found[of_even].mean()) if of_even.any() else 0.0,
        "odd": float(found[~of_even].mean()) if (~of_even).any() else 0.0,
    }


def heaviest(weights: torch.Tensor, k_post: int | None = None) -> torch.Tensor:
    """The k_post strongest of every row, all others 0."""
    if k_post is None or k_post >= weights.shape[1]:
        return weights
    best = torch.topk(weights, k_post, dim=1)
    return torch.zeros_like(weights).scatter_(1, best.indices, best.values)


def stored(weights: torch.Tensor, k_post: int | None = None) -> torch.Tensor:
    """What an index keeps: the k_post strongest, in hundredths of 16 bits."""
    return (heaviest(weights, k_post) * 100.0).round().clamp_(max=65_535.0) / 100.0


def idf(df: torch.Tensor, n: int) -> torch.Tensor:
    """BM25's worth of terms that `df` of n documents have."""
    return torch.log(1.0 + (n - df + 0.5) / (df + 0.5))


def own_idf(documents: torch.Tensor) -> torch.Tensor:
    """The worth of terms in these very documents."""
    return idf((documents > 0).sum(dim=0).float(), len(documents))


def saturated(documents: torch.Tensor, scoring: Scoring) -> torch.Tensor:
    """BM25's part of every posting, without idf."""
    tf = documents.pow(scoring.power)
    length = tf.sum(dim=1, keepdim=True)
    norm = scoring.k1 * (1.0 - scoring.b + scoring.b * length / length.mean())
    return tf * (scoring.k1 + 1.0) / (tf + norm)


def impacts(documents: torch.Tensor, scoring: Scoring) -> torch.Tensor:
    """BM25's part of every posting, idf included."""
    return own_idf(documents) * saturated(documents, scoring)


def postings(documents: torch.Tensor) -> float:
    """Terms of a document, on average."""
    return float((documents > 0).sum()) / len(documents)


def ranking(scores: torch.Tensor, depth: int = 20) -> Array:
    """The best documents of every query; those that share no term are -1."""
    found = torch.topk(scores, min(depth, scores.shape[1]), dim=1)
    ranked: Array = torch.where(found.values > 0, found.indices, -1).cpu().numpy()
    return ranked


Relevant = Sequence[Mapping[int, int]]
"""For every query: document number -> gain."""


def ndcg(ranked: Array, relevant: Relevant, depth: int = 10) -> Array:
    """Of every query."""
    discount = [1.0 / math.log2(place + 2) for place in range(depth)]
    found = []
    for row, gains in zip(ranked, relevant, strict=True):
        got = sum(gains.get(int(d), 0) * w for d, w in zip(row[:depth], discount, strict=False))
        best = sum(g * w for g, w in zip(sorted(gains.values(), reverse=True), discount, strict=False))
        found.append(got / best if best else 0.0)
    return np.array(found)


def recall(ranked: Array, relevant: Relevant, depth: int) -> float:
    """Mean over the queries that have something relevant."""
    found = [
        len({int(d) for d in row[:depth]} & set(gains)) / len(gains)
        for row, gains in zip(ranked, relevant, strict=True)
        if gains
    ]
    return float(np.mean(found))
