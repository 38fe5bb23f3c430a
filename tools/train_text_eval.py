"""Part of train_text_vocabulary.py: how well do terms retrieve? Small collections, dense matrices."""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from train_text_encode import Collection

K_MAX = 16


class Codes(NamedTuple):
    """The strongest terms of every token, strongest first, and the item each token belongs to."""

    values: torch.Tensor
    terms: torch.Tensor
    item: torch.Tensor
    items: int


class Scoring(NamedTuple):
    """BM25 over transformed weights."""

    k1: float = 8.0
    b: float = 0.7
    power: float = 0.5


def even(query_id: str) -> bool:
    """Half of the queries choose settings, the other half reports: by the last bit of the id's sha1."""
    return hashlib.sha1(query_id.encode()).digest()[-1] % 2 == 0


def item_of(indptr: np.ndarray, device: Any) -> torch.Tensor:
    return torch.from_numpy(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))).to(device)


def pool(codes: Codes, k: int, width: int, *, how: str = "sum") -> torch.Tensor:
    """Items x terms: the activations of the k strongest terms of every token, summed."""
    out = torch.zeros(codes.items * width, device=codes.values.device)
    flat = (codes.item[:, None] * width + codes.terms[:, :k]).reshape(-1)
    values = codes.values[:, :k].reshape(-1)
    if how == "sum":
        out.index_add_(0, flat, values)
    else:
        out.scatter_reduce_(0, flat, values, "amax")
    return out.view(codes.items, width)


def stored(weights: torch.Tensor, k_post: int | None = None, min_weight: float = 0.0) -> torch.Tensor:
    """What an index keeps: pruned, then hundredths in 16 bits."""
    if k_post is not None and k_post < weights.shape[1]:
        least = torch.topk(weights, k_post, dim=1).values[:, -1:]
        weights = torch.where(weights >= least, weights, 0.0)
    if min_weight > 0:
        weights = torch.where(weights >= min_weight, weights, 0.0)
    return (weights * 100.0).round().clamp(max=65_535.0) / 100.0


def impacts(documents: torch.Tensor, scoring: Scoring) -> torch.Tensor:
    """BM25's part of every posting, idf included."""
    n = documents.shape[0]
    df = (documents > 0).sum(dim=0).float()
    idf = torch.log(1.0 + (n - df + 0.5) / (df + 0.5))
    tf = documents.pow(scoring.power)
    length = tf.sum(dim=1, keepdim=True)
    norm = scoring.k1 * (1.0 - scoring.b + scoring.b * length / length.mean())
    return idf * tf * (scoring.k1 + 1.0) / (tf + norm)


def ranking(scores: torch.Tensor, depth: int = 20) -> np.ndarray:
    """The best documents of every query; those that share no term are -1."""
    found = torch.topk(scores, min(depth, scores.shape[1]), dim=1)
    return torch.where(found.values > 0, found.indices, -1).cpu().numpy()


def ndcg(ranked: np.ndarray, relevant: list[dict[int, int]], depth: int = 10) -> np.ndarray:
    discount = [1.0 / math.log2(place + 2) for place in range(depth)]
    found = []
    for row, gains in zip(ranked, relevant, strict=True):
        got = sum(gains.get(int(d), 0) * w for d, w in zip(row[:depth], discount, strict=False))
        best = sum(g * w for g, w in zip(sorted(gains.values(), reverse=True), discount, strict=False))
        found.append(got / best if best else 0.0)
    return np.array(found)


def recall(ranked: np.ndarray, relevant: list[dict[int, int]], depth: int) -> float:
    found = [
        len({int(d) for d in row[:depth]} & set(gains)) / len(gains)
        for row, gains in zip(ranked, relevant, strict=True)
        if gains
    ]
    return float(np.mean(found))


def measure(queries: torch.Tensor, weights: torch.Tensor, collection: Collection, scoring: Scoring) -> dict[str, Any]:
    """nDCG@10 over all queries and over both halves."""
    ranked = ranking(queries.pow(scoring.power) @ weights.T)
    each = ndcg(ranked, collection.relevant)
    half = np.array([even(name) for name in collection.query_ids])
    out: dict[str, Any] = {"all": float(each.mean())}
    out["even"] = float(each[half].mean()) if half.any() else 0.0
    out["odd"] = float(each[~half].mean()) if (~half).any() else 0.0
    if collection.name.startswith("limit"):
        out["r10"], out["r20"] = recall(ranked, collection.relevant, 10), recall(ranked, collection.relevant, 20)
    return out


def table_queries(table: tuple[torch.Tensor, torch.Tensor], collection: Collection, width: int) -> torch.Tensor:
    """Queries from the table of word pieces alone: rows of their pieces, summed."""
    terms, values = table
    pieces = torch.from_numpy(collection.queries.ids.astype(np.int64)).to(terms.device)
    codes = Codes(
        values[pieces], terms[pieces], item_of(collection.queries.indptr, terms.device), len(collection.query_ids)
    )
    return pool(codes, terms.shape[1], width)
