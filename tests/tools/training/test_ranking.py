"""The one BM25 and the one nDCG of the training programs, against plain Python."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.tools.loading import load

torch = pytest.importorskip("torch", reason="LEFT OUT: torch not installed (extra 'train')")

WEIGHTS = [[2.0, 0.0, 1.0, 0.0], [0.0, 3.0, 0.5, 0.0], [1.0, 1.0, 0.0, 0.004]]


@pytest.fixture(scope="module")
def ranking() -> ModuleType:
    (found,) = load("training.ranking")
    return found


def plain_bm25(rows: list[list[float]], query: list[float], k1: float, b: float, power: float) -> list[float]:
    n, tf = len(rows), [[w**power for w in row] for row in rows]
    lengths = [sum(row) for row in tf]
    mean = sum(lengths) / n
    scores = []
    for row, length in zip(tf, lengths, strict=True):
        score = 0.0
        for term, weight in enumerate(row):
            df = sum(other[term] > 0 for other in rows)
            worth = math.log(1 + (n - df + 0.5) / (df + 0.5))
            norm = k1 * (1 - b + b * length / mean)
            score += query[term] ** power * worth * weight * (k1 + 1) / (weight + norm)
        scores.append(score)
    return scores


def test_bm25_is_that_of_the_formula(ranking: ModuleType) -> None:
    query = [1.0, 2.0, 0.0, 0.0]
    for k1, b, power in ((8.0, 0.7, 0.5), (1.5, 0.75, 1.0), (0.5, 0.0, 0.35)):
        scoring = ranking.Scoring(k1, b, power)
        found = scoring.asked(torch.tensor([query])) @ ranking.impacts(torch.tensor(WEIGHTS), scoring).T
        assert found[0].tolist() == pytest.approx(plain_bm25(WEIGHTS, query, k1, b, power), rel=1e-5)


def test_a_binary_query_counts_its_terms_once(ranking: ModuleType) -> None:
    asked = torch.tensor([[0.3, 7.0, 0.0]])
    assert ranking.Scoring(binary=True).asked(asked).tolist() == [[1.0, 1.0, 0.0]]


def test_what_an_index_keeps(ranking: ModuleType) -> None:
    kept = ranking.stored(torch.tensor([[0.126, 5.0, 0.0, 3.0], [700.0, 0.001, 0.0, 0.0]]), 2)
    assert kept[0].tolist() == [0.0, 5.0, 0.0, 3.0]
    assert float(kept[1, 0]) == pytest.approx(655.35) and float(kept[1, 1]) == 0.0
    assert ranking.stored(torch.tensor([[0.126, 0.004]])).tolist()[0] == pytest.approx([0.13, 0.0])
    assert ranking.postings(kept) == 1.5


def test_ndcg_by_hand(ranking: ModuleType) -> None:
    ranked = np.array([[2, 0, -1], [1, 0, 2]])
    relevant: list[dict[int, int]] = [{0: 2, 1: 1}, {1: 1}]
    best = 2 + 1 / math.log2(3)
    assert ranking.ndcg(ranked, relevant).tolist() == pytest.approx([2 / math.log2(3) / best, 1.0])
    assert ranking.recall(ranked, relevant, 2) == pytest.approx((0.5 + 1.0) / 2)
    assert ranking.ndcg(ranked, [{}, {}]).tolist() == [0.0, 0.0]


def test_documents_that_share_no_term_are_not_found(ranking: ModuleType) -> None:
    assert ranking.ranking(torch.tensor([[0.0, 2.0, 1.0]])).tolist() == [[1, 2, -1]]


def test_halves_go_by_name(ranking: ModuleType) -> None:
    names = [f"q{i}" for i in range(20)]
    even: Any = ranking.even(names)
    assert 0 < even.sum() < 20 and even.tolist() == ranking.even(names).tolist()
    values = np.arange(20.0)
    found = ranking.halves(values, even)
    assert found == {"all": 9.5, "even": values[even].mean(), "odd": values[~even].mean()}
    assert ranking.halves(values, np.ones(20, np.bool_))["odd"] == 0.0
