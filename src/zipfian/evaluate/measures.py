"""Measures by short names, computed by ir_measures (MacAvaney et al. 2022).

| key | meaning |
|---|---|
| `ndcg@K` | nDCG with linear gain, as BEIR reports it |
| `ndcg_exp@K` | nDCG with gain 2^rel - 1 (Hybrid VL, eq. 4) |
| `recall@K` | share of the relevant documents among the first K |
| `r@K` | 1 if any relevant document is among the first K (image retrieval's Recall@K) |
| `mrr`, `mrr@K` | 1 / rank of the first relevant document |
| `map` | average precision over the ranking that was asked for |
| `p@K` | share of the first K that is relevant |

Rankings are handed over by rank, not by score: equal scores keep our documented order instead of ir_measures' own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zipfian import limits
from zipfian.errors import InvalidInput, MissingExtra, check_extra
from zipfian.evaluate.trec import Run

TEXT = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "map")
LIMIT = ("recall@10", "recall@20", "recall@100", "recall@1000")
"""Besides TEXT where a collection is a LIMIT set."""
IMAGES = ("r@1", "r@5", "r@10", "r@20", "r@50", "r@100", "r@200", "map")
CAPTIONS = ("r@1", "r@5", "r@10", "r@20", "r@50", "r@100", "r@200", "mrr", "map")

_KEY = re.compile(r"(?P<name>ndcg_exp|ndcg|recall|r|mrr|map|p)(?:@(?P<cutoff>[1-9][0-9]*))?\Z")
_NEEDS_CUTOFF = frozenset({"ndcg", "ndcg_exp", "recall", "r", "p"})


def split_key(key: str) -> tuple[str, int | None]:
    """'recall@100' as ('recall', 100)."""
    found = _KEY.match(key)
    if not found or (found["name"] in _NEEDS_CUTOFF and found["cutoff"] is None):
        raise InvalidInput(
            f"unknown measure {key!r}; use ndcg@K, ndcg_exp@K, recall@K, r@K, mrr, mrr@K, map or p@K, such as 'ndcg@10'"
        )
    return found["name"], int(found["cutoff"]) if found["cutoff"] else None


def depth_for(keys: Sequence[str], default: int) -> int:
    """How many hits a run needs so that every cutoff can be read from it."""
    return max([default, *(cutoff for _, cutoff in map(split_key, keys) if cutoff is not None)])


def evaluate(run: Run, qrels: Mapping[str, Mapping[str, int]], keys: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measure -> query -> value. Every judged query counts: one without hits has 0."""
    library = _library()
    if not qrels:
        raise InvalidInput("there are no judged queries: nothing can be measured")
    measures = {key: _measure(library, key, qrels) for key in keys}
    ranked = {q: {doc: float(-rank) for rank, (doc, _) in enumerate(hits)} for q, hits in run.items() if q in qrels}
    for query, hits in run.items():
        if query in ranked and len(ranked[query]) != len(hits):
            raise InvalidInput(f"the ranking of query {query!r} names a document twice")
    grades = {q: {d: int(g) for d, g in rows.items()} for q, rows in qrels.items()}
    out: dict[str, dict[str, float]] = {key: dict.fromkeys(qrels, 0.0) for key in keys}
    back = {str(measure): key for key, measure in measures.items()}
    if any(ranked.values()):
        for metric in library.iter_calc(list(measures.values()), grades, ranked):
            out[back[str(metric.measure)]][metric.query_id] = float(metric.value)
    return out


def mean(values: Mapping[str, float]) -> float:
    """The mean over queries."""
    return float(np.mean(list(values.values())))


def means(per_query: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Measure -> mean over queries."""
    return {key: mean(values) for key, values in per_query.items()}


def _measure(library: Any, key: str, qrels: Mapping[str, Mapping[str, int]]) -> Any:
    name, cutoff = split_key(key)
    if name == "ndcg_exp":
        grades = {int(g) for rows in qrels.values() for g in rows.values() if g > 0}
        if max(grades, default=0) > limits.MAX_GRADE:
            raise InvalidInput(f"ndcg_exp takes grades up to {limits.MAX_GRADE}, not {max(grades)}")
        return library.nDCG(gains={g: 2**g - 1 for g in sorted(grades)}) @ cutoff
    base = {
        "ndcg": library.nDCG,
        "recall": library.R,
        "r": library.Success,
        "mrr": library.RR,
        "map": library.AP,
        "p": library.P,
    }[name]
    return base @ cutoff if cutoff is not None else base


def check_installed() -> None:
    """`MissingExtra` where measures or significance could not be computed in the end."""
    check_extra("computing measures and their significance", "eval", "ir_measures", "scipy")


def _library() -> Any:
    try:
        import ir_measures
    except ImportError:
        raise MissingExtra("computing measures", "eval") from None
    return ir_measures
