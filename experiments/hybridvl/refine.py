"""The training-free reranker over whole score matrices: what its figures and sweeps are made from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.hybridvl.matrix import Scores, blend, score_all, score_matrix
from experiments.hybridvl.questions import encode_some
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset
from zipfian.fields.query import Query
from zipfian.fuse.ranking import Ranking
from zipfian.rerank.training_free import TAU, Variant, context_coherence, rerank_training_free
from zipfian.retrieve.scoring import TfIdf

VARIANTS: tuple[Variant, ...] = ("cross", "cross+text", "cross+context", "all")
POOL_SIZE = 100

__all__ = ["POOL_SIZE", "TAU", "VARIANTS", "Pool", "Refined", "Variant", "load_pool", "refine"]


@dataclass(frozen=True, eq=False)
class Pool:
    """The coarse stage and the three signals, for all queries and documents."""

    fused: Scores
    cross: Scores
    text: Scores | None
    """Agreement of the query's text and each document's; None where nobody has texts."""
    vectors: npt.NDArray[np.float32]
    """(documents, dim): for the coherence of candidates."""


@dataclass(frozen=True)
class Refined:
    """Rankings and what a query cost."""

    run: dict[str, list[tuple[str, float]]]
    ms: float
    """Median milliseconds of reranking one query, signals included, encoders not."""


def load_pool(collection: Any, dataset: Dataset, captions: Mapping[str, str], alpha: float) -> Pool:
    """The signals of Hybrid VL from a collection with the fields `aligned`, and `words` and `dense` where it has texts.

    A text query is compared with the documents' texts as it is; a picture through its caption in `captions`.
    """
    if not 0.0 <= alpha <= 1.0:
        raise InvalidInput(f"alpha must lie between 0 and 1, not {alpha!r}")
    cross = score_matrix(collection, "aligned", dataset)
    searcher = collection.searcher()
    vectors = searcher.dense("aligned").vectors(searcher.numbers(cross.docs))
    if "words" not in collection.fields:
        return Pool(cross, cross, None, vectors)
    asking = [Query(query.text or captions[q]) for q, query in dataset.queries.items()]
    field = collection.fields["dense"]
    encode_some(asking, field)
    text = score_all(collection, "dense", asking, cross.docs)
    sparse = score_all(collection, "words", asking, cross.docs, TfIdf())
    fused = blend([(alpha, cross), (1.0 - alpha, cross.with_values(np.nan_to_num(sparse)))])
    return Pool(fused, cross, cross.with_values(text), vectors)


def refine(
    pool: Pool, *, size: int = POOL_SIZE, tau: float = TAU, variant: Variant = "all", depth: int = 200
) -> Refined:
    """Rerank the first `size` of every query; the rest keep their coarse order below (eq. 1)."""
    if size < 1:
        raise InvalidInput(f"K must be at least 1, not {size}")
    order = pool.fused.order()
    with_context = variant in ("cross+context", "all")  # the others would pay for what they do not read
    run: dict[str, list[tuple[str, float]]] = {}
    seconds = []
    for i, query in enumerate(pool.fused.queries):
        docs = order[i, : max(size, depth)]
        first = docs[:size]
        start = time.perf_counter()
        text = pool.text.values[i, first] if pool.text is not None else None
        found = rerank_training_free(
            Ranking.of("fused", docs, pool.fused.values[i, docs]), pool.cross.values[i, first], text,
            context_coherence(pool.vectors[first]) if with_context else None, variant=variant, tau=tau,
        )  # fmt: skip
        seconds.append(time.perf_counter() - start)
        ranked = zip(found.docs[:depth].tolist(), found.scores[:depth].tolist(), strict=True)
        run[query] = [(pool.fused.docs[d], score) for d, score in ranked]
    return Refined(run, float(np.median(seconds)) * 1e3)
