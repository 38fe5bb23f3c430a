"""Part of train_image_vocabulary.py: how well do visual words find pictures of the same class? Dense matrices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

K_MAX = 32
TWO_STAGE = 200
DEPTHS = (1, 5, 10, 100, 200)

KS = (4, 8, 16, 32)
POSTS: tuple[int | None, ...] = (16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, None)


class Scoring(NamedTuple):
    """BM25 over transformed weights; a binary query counts each of its terms once."""

    k1: float = 8.0
    b: float = 0.7
    power: float = 0.5
    binary: bool = False


FIRST = (
    Scoring(), Scoring(1.5, 0.75, 1.0), Scoring(1.5, 0.75, 1.0, True), Scoring(8.0, 0.7, 0.65), Scoring(0.5, 0.7, 0.35),
    Scoring(8.0, 0.7, 1.0), Scoring(32.0, 0.7, 0.65),
)  # fmt: skip
FINER = tuple(
    Scoring(k1, b, power, binary)
    for k1 in (0.5, 1.5, 4.0, 8.0, 16.0, 32.0)
    for b in (0.3, 0.7, 0.9)
    for power in (0.35, 0.5, 0.65, 0.8, 1.0)
    for binary in (False, True)
    if not binary or power in (0.5, 1.0)
)


class Codes(NamedTuple):
    """Strongest terms of every patch of every picture, (pictures, cells, K_MAX), strongest first."""

    values: torch.Tensor
    terms: torch.Tensor

    def pooled(self, k: int, width: int, how: str) -> torch.Tensor:
        """Pictures x terms."""
        n = len(self.values)
        out = torch.zeros(n, width, device=self.values.device)
        terms, values = self.terms[:, :, :k].reshape(n, -1).long(), self.values[:, :, :k].reshape(n, -1)
        if how == "sum":
            # In double precision the order of additions no longer shows in hundredths.
            exact = torch.zeros(n, width, device=self.values.device, dtype=torch.float64)
            return exact.scatter_add_(1, terms, values.double()).float()
        return out.scatter_reduce_(1, terms, values, "amax")


def stored(weights: torch.Tensor, k_post: int | None) -> torch.Tensor:
    """What an index keeps: the k_post strongest, in hundredths of 16 bits."""
    if k_post is not None and k_post < weights.shape[1]:
        best = torch.topk(weights, k_post, dim=1)
        weights = torch.zeros_like(weights).scatter_(1, best.indices, best.values)
    return (weights * 100.0).round().clamp_(max=65_535.0) / 100.0


def impacts(documents: torch.Tensor, scoring: Scoring) -> torch.Tensor:
    n = documents.shape[0]
    df = (documents > 0).sum(dim=0).float()
    idf = torch.log(1.0 + (n - df + 0.5) / (df + 0.5))
    tf = documents.pow(scoring.power)
    length = tf.sum(dim=1, keepdim=True)
    norm = scoring.k1 * (1.0 - scoring.b + scoring.b * length / length.mean())
    return idf * tf * (scoring.k1 + 1.0) / (tf + norm)


class Test(NamedTuple):
    """Gallery and queries with their classes and pooled vectors."""

    gallery_class: torch.Tensor
    query_class: torch.Tensor
    dense: torch.Tensor
    """Cosine of every query and gallery picture."""
    even: np.ndarray
    """Queries that choose settings: sha1 of the file name is even."""


def even(name: str) -> bool:
    return hashlib.sha1(name.encode()).digest()[-1] % 2 == 0


def recalls(scores: torch.Tensor, test: Test, depths: tuple[int, ...] = DEPTHS) -> dict[int, np.ndarray]:
    """For every depth and query: is a picture of its class among the best?"""
    best = torch.topk(scores, min(max(depths), scores.shape[1]), dim=1)
    right = (test.gallery_class[best.indices] == test.query_class[:, None]) & torch.isfinite(best.values)
    return {depth: right[:, :depth].any(dim=1).cpu().numpy() for depth in depths}


def two_stage(scores: torch.Tensor, test: Test, k: int = TWO_STAGE) -> np.ndarray:
    """First place after the k best go by cosine."""
    best = torch.topk(scores, min(k, scores.shape[1]), dim=1)
    cosine = torch.gather(test.dense, 1, best.indices).masked_fill(best.values <= 0, -2.0)
    first = torch.gather(best.indices, 1, cosine.argmax(dim=1, keepdim=True))[:, 0]
    return (test.gallery_class[first] == test.query_class).cpu().numpy()


def halves(found: np.ndarray, test: Test) -> dict[str, float]:
    return {
        "all": float(found.mean()),
        "even": float(found[test.even].mean()) if test.even.any() else 0.0,
        "odd": float(found[~test.even].mean()) if (~test.even).any() else 0.0,
    }


def measure(queries: torch.Tensor, weights: torch.Tensor, scoring: Scoring, test: Test) -> dict[str, Any]:
    asked = (queries > 0).float() if scoring.binary else queries.pow(scoring.power)
    scores = asked @ weights.T
    row: dict[str, Any] = {f"r{depth}": halves(hit, test) for depth, hit in recalls(scores, test).items()}
    row["two_stage"] = halves(two_stage(scores, test), test)
    return row


def evaluate(
    gallery: Codes,
    queries: Codes,
    test: Test,
    width: int,
    *,
    pools: tuple[str, ...] = ("sum", "max"),
    finer: tuple[int, int] = (24, 260),
) -> Iterator[dict[str, Any]]:
    """Every way of use with the first few scorings, then the finer grid for the ways on the front.

    A way is on the front when no other has as few postings and is as good on the even queries.
    """
    rows = []
    for how in pools:
        for k in KS:
            both = [codes.pooled(k, width, how) for codes in (gallery, queries)]
            for k_post in POSTS:
                documents, asked = (stored(weights, k_post) for weights in both)
                postings = float((documents > 0).sum()) / len(documents)
                for scoring in FIRST:
                    row = measure(asked, impacts(documents, scoring), scoring, test)
                    row |= {"k": k, "pooling": how, "k_post": k_post, "scoring": list(scoring), "postings": postings}
                    rows.append(row)
                    yield row
    low, high = finer
    for way in front([row for row in rows if low <= row["postings"] <= high]):
        k, how, k_post = way["k"], way["pooling"], way["k_post"]
        documents, asked = (stored(codes.pooled(k, width, how), k_post) for codes in (gallery, queries))
        for scoring in FINER:
            row = measure(asked, impacts(documents, scoring), scoring, test)
            row |= {"k": k, "pooling": how, "k_post": k_post, "scoring": list(scoring), "postings": way["postings"]}
            yield row


def front(rows: list[dict[str, Any]], least: float = 8.0) -> list[dict[str, Any]]:
    """Rows that nothing with fewer postings beats on the even queries, best first."""
    found: list[dict[str, Any]] = []
    best = -1.0
    for row in sorted(rows, key=lambda row: (row["postings"], -row["r1"]["even"])):
        if row["r1"]["even"] > best and row["postings"] >= least:
            best = row["r1"]["even"]
            found.append(row)
    return found[::-1]


def line(row: dict[str, Any]) -> str:
    return (
        f"k{row['k']:<3}{row['pooling']:<4} post {row['k_post']!s:<5} {tuple(row['scoring'])!s:<26} "
        f"{row['postings']:6.0f}p r1 even {row['r1']['even']:.4f} odd {row['r1']['odd']:.4f} "
        f"all {row['r1']['all']:.4f} r200 {row['r200']['all']:.4f} two-stage {row['two_stage']['all']:.4f}"
    )
