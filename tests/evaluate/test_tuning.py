from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.tuning import (
    bm25_grid,
    cross_validate,
    field_scores,
    folds_of,
    tune_scoring,
    tune_weights,
    weight_grid,
)
from zipfian.retrieve.scoring import BM25


@given(st.integers(2, 10), st.integers(10, 60), st.integers(0, 5))
def test_folds_share_nothing_and_lose_nothing(folds: int, n: int, seed: int) -> None:
    queries = [f"q{i}" for i in range(n)]
    parts = folds_of(queries, folds, seed)
    assert sorted(q for part in parts for q in part) == sorted(queries)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_nothing_is_measured_on_what_it_was_chosen_on() -> None:
    """Noise only: the best of many settings looks good where it was chosen and is worth nothing elsewhere."""
    rng = np.random.default_rng(0)
    values = {s: {f"q{i}": float(v) for i, v in enumerate(rng.random(60))} for s in range(200)}
    found = cross_validate("ndcg@10", values, 0)
    assert found.fitted > 0.58
    assert found.held_out < 0.56
    for fold, chosen in zip(folds_of(list(values[0]), 5), found.chosen, strict=True):
        seen = [q for q in values[0] if q not in set(fold)]
        means = {s: np.mean([v[q] for q in seen]) for s, v in values.items()}
        assert chosen == max(means, key=lambda s: means[s])


def test_a_setting_that_is_better_everywhere_is_found() -> None:
    values = {name: {f"q{i}": 0.5 + gain for i in range(10)} for name, gain in (("a", 0.0), ("b", 0.1))}
    found = cross_validate("ndcg@10", values, "a")
    assert (found.best, found.default_value) == ("b", 0.5)
    assert found.held_out == pytest.approx(0.6)
    assert found.to_json()["tuned"]["settings"] == ["b"] * 5


@given(st.integers(2, 4), st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_weights_share_one_exactly(n: int, step: float) -> None:
    grid = weight_grid(n, step)
    assert all(abs(sum(w) - 1) < 1e-12 and min(w) >= 0 for w in grid)
    assert len(set(grid)) == len(grid)
    if (n, step) == (2, 0.05):
        assert len(grid) == 21 and (0.8, 0.2) in grid


def test_weights_prefer_the_field_that_knows() -> None:
    scores = {f"q{i}": {"bad": [0.0, 1.0], "good": [1.0, 0.0]} for i in range(10)}
    found = tune_weights(scores, {q: {"good": 1} for q in scores}, ["a", "b"], step=0.25, measure="r@1")
    assert found.best[0] > 0.5 and found.held_out == 1.0


def test_scoring_on_a_real_field(beir: Path) -> None:
    data = load_beir(beir)
    with built(data, ["words"]) as collection:
        grid = bm25_grid([0.9, 1.5], [0.0, 0.75], ["identity", "sqrt"])
        found = tune_scoring(collection, "words", data, grid, measure="ndcg@10", folds=2)
        assert found.tried == 8
        assert found.default == BM25()
        assert 0.0 < found.held_out <= 1.0
        scores = field_scores(collection, ["words"], data)
        assert set(scores["q4"]) == {"d4", "d5"}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: folds_of(["a", "b"], 1), "at least 2 folds"),
        (lambda: folds_of(["a"], 2), "1 queries cannot be dealt into 2"),
        (lambda: weight_grid(2, 0.3), "must divide 1"),
        (lambda: weight_grid(2, 0.0), "must divide 1"),
        (lambda: weight_grid(1), "at least two fields"),
        (lambda: bm25_grid([]), "the grid is empty"),
        (lambda: cross_validate("map", {"a": {"q": 1.0}}, "b"), "must be among those tried"),
    ],
)
def test_bad_input(call: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        call()  # type: ignore[operator]
