"""How well do visual words find pictures of the same class? Every way to use a vocabulary, measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from texts import Array

from training.codes import Codes
from training.image_encoder import Lite2, read_pictures, whole_patches
from training.ranking import Scoring, even, halves, impacts, postings, stored

K_MAX = 32
TWO_STAGE = 200
DEPTHS = (1, 5, 10, 100, 200)

KS = (4, 8, 16, 32)
POSTS: tuple[int | None, ...] = (16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, None)


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


class Test(NamedTuple):
    """Gallery and queries with their classes and pooled vectors."""

    gallery_class: torch.Tensor
    query_class: torch.Tensor
    dense: torch.Tensor
    """Cosine of every query and gallery picture."""
    even: Array
    """Queries that choose settings: sha1 of the file name is even."""


class Bench(NamedTuple):
    """Pictures to measure on: their classes, and the patches of both sides."""

    test: Test
    gallery: torch.Tensor
    queries: torch.Tensor
    said: str
    """How many there are, and how well pooled vectors do."""


def load_bench(folder: Path, net: Lite2, batch: int, limit: int | None) -> Bench:
    """`gallery/CLASS/*` and `query/CLASS/*`; a class is the name of a picture's folder."""
    sides = [read_pictures(folder / part, small=False, limit=limit) for part in ("gallery", "query")]
    patches, pooled = zip(*(whole_patches(net, side, batch) for side in sides), strict=True)
    of = [[Path(name).parent.name for name in side.names] for side in sides]
    number = {name: place for place, name in enumerate(sorted({name for names in of for name in names}))}
    classes = [torch.tensor([number[name] for name in names], device=net.device) for names in of]
    dense = pooled[1] @ pooled[0].T
    test = Test(classes[0], classes[1], dense, even([Path(name).name for name in sides[1].names]))
    said = f"{len(of[0])} gallery, {len(of[1])} queries, {len(number)} classes; dense " + " ".join(
        f"r@{depth} {halves(hit, test.even)}" for depth, hit in recalls(dense, test).items()
    )
    return Bench(test, patches[0], patches[1], said)


def recalls(scores: torch.Tensor, test: Test, depths: tuple[int, ...] = DEPTHS) -> dict[int, Array]:
    """For every depth and query: is a picture of its class among the best?"""
    best = torch.topk(scores, min(max(depths), scores.shape[1]), dim=1)
    right = (test.gallery_class[best.indices] == test.query_class[:, None]) & torch.isfinite(best.values)
    return {depth: right[:, :depth].any(dim=1).cpu().numpy() for depth in depths}


def two_stage(scores: torch.Tensor, test: Test, k: int = TWO_STAGE) -> Array:
    """First place after the k best go by cosine."""
    best = torch.topk(scores, min(k, scores.shape[1]), dim=1)
    cosine = torch.gather(test.dense, 1, best.indices).masked_fill(best.values <= 0, -2.0)
    first = torch.gather(best.indices, 1, cosine.argmax(dim=1, keepdim=True))[:, 0]
    found: Array = (test.gallery_class[first] == test.query_class).cpu().numpy()
    return found


def measure(queries: torch.Tensor, documents: torch.Tensor, scoring: Scoring, test: Test) -> dict[str, Any]:
    """Recall at all depths over all queries and both halves, after one stage and after two, and what it costs."""
    scores = scoring.asked(queries) @ impacts(documents, scoring).T
    row: dict[str, Any] = {f"r{depth}": halves(hit, test.even) for depth, hit in recalls(scores, test).items()}
    row["two_stage"] = halves(two_stage(scores, test), test.even)
    return row | {"postings": postings(documents)}


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
                for row in _measured(both, (k, how, k_post), FIRST, test):
                    rows.append(row)
                    yield row
    low, high = finer
    for way in front([row for row in rows if low <= row["postings"] <= high]):
        both = [codes.pooled(way["k"], width, way["pooling"]) for codes in (gallery, queries)]
        yield from _measured(both, (way["k"], way["pooling"], way["k_post"]), FINER, test)


def _measured(
    both: list[torch.Tensor], way: tuple[int, str, int | None], scorings: tuple[Scoring, ...], test: Test
) -> Iterator[dict[str, Any]]:
    """One way of use with several scorings."""
    documents, asked = (stored(weights, way[2]) for weights in both)
    for scoring in scorings:
        row = measure(asked, documents, scoring, test)
        yield row | {"k": way[0], "pooling": way[1], "k_post": way[2], "scoring": list(scoring)}


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


def best_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best on the even queries under several limits of postings."""
    found = []
    for limit in (32, 64, 128, 256, 512, 1e9):
        few = [row for row in rows if row["postings"] <= limit]
        if few:
            found.append(max(few, key=lambda row: float(row["r1"]["even"])))
    return found
