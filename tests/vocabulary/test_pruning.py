"""Pruning against the obvious slow way to do it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import FormatTooNew, InvalidInput
from zipfian.types import Terms
from zipfian.vocabulary import Pruning, dropped_terms, prune_rows, prune_terms

ROWS = st.lists(
    st.dictionaries(st.integers(0, 30), st.sampled_from([0.05, 0.15, 0.5, 1.0, 2.5]), max_size=12), max_size=8
)


def as_rows(
    rows: list[dict[int, float]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([i for row in rows for i in sorted(row)], dtype=np.int32)
    weights = np.array([row[i] for row in rows for i in sorted(row)], dtype=np.float32)
    return indptr, indices, weights


def slowly(row: dict[int, float], pruning: Pruning) -> dict[int, float]:
    kept = [(i, w) for i, w in row.items() if np.float32(w) >= pruning.min_weight]
    kept.sort(key=lambda pair: (-pair[1], pair[0]))
    return dict(kept[: pruning.top_k])


@given(ROWS, st.sampled_from([0.0, 0.15, 0.5, 3.0]), st.none() | st.integers(1, 13))
def test_rows_match_the_slow_way(rows: list[dict[int, float]], min_weight: float, top_k: int | None) -> None:
    pruning = Pruning(min_weight=min_weight, top_k=top_k)
    expected = as_rows([slowly(row, pruning) for row in rows])
    found = prune_rows(*as_rows(rows), pruning)
    for got, want in zip(found, expected, strict=True):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(got, want)
    for row, want in zip(rows, [slowly(row, pruning) for row in rows], strict=True):
        _, ids, weights = as_rows([row])
        terms = prune_terms(Terms(ids, weights), pruning)
        assert terms.ids.tolist() == sorted(want)


def test_ties_go_to_the_lower_term() -> None:
    terms = Terms(np.array([3, 5, 9], dtype=np.int32), np.ones(3, dtype=np.float32))
    assert prune_terms(terms, Pruning(top_k=2)).ids.tolist() == [3, 5]


def test_counts_can_be_pruned_too() -> None:
    rows = np.array([0, 3]), np.array([1, 2, 3], dtype=np.int32), np.array([1, 5, 2], dtype=np.uint32)
    _, ids, tf = prune_rows(*rows, Pruning(min_weight=2))
    assert (ids.tolist(), tf.tolist(), tf.dtype.name) == ([2, 3], [5, 2], "uint32")


def test_no_pruning_copies_nothing() -> None:
    rows = as_rows([{1: 1.0}])
    assert prune_rows(*rows, Pruning())[1] is rows[1]
    assert not Pruning(drop_top_share=0.1).prunes_documents
    assert Pruning(drop_top_share=0.1).prunes_vocabulary


def test_dropped_terms_by_rank() -> None:
    df = np.array([5, 9, 9, 1, 0, 9, 2, 2, 2, 2])
    assert dropped_terms(df, 10, Pruning(drop_top_share=0.2)).tolist() == [1, 2]
    assert dropped_terms(df, 10, Pruning(drop_top_share=0.29)).tolist() == [1, 2]
    assert dropped_terms(df, 10, Pruning(drop_top_share=0.4)).tolist() == [0, 1, 2, 5]
    assert dropped_terms(df, 10, Pruning(drop_top_share=0.0)).tolist() == []
    sizes = [len(dropped_terms(np.arange(32_768), 10**6, Pruning(drop_top_share=p))) for p in (0.01, 0.05, 0.1)]
    assert sizes == [327, 1_638, 3_276]
    assert len(dropped_terms(np.arange(100), 100, Pruning(drop_top_share=0.29))) == 29


def test_dropped_terms_by_share_of_documents() -> None:
    df = np.array([28, 29, 30, 100], dtype=np.uint32)
    assert dropped_terms(df, 100, Pruning(max_df_share=0.29)).tolist() == [2, 3]
    assert dropped_terms(df, 100, Pruning(max_df_share=1.0)).tolist() == []
    assert dropped_terms(df, 100, Pruning(max_df_share=0.99, drop_top_share=0.5)).tolist() == [2, 3]
    assert dropped_terms(df, 100, Pruning()).tolist() == []


@given(st.lists(st.integers(0, 20), max_size=40), st.floats(0, 0.99), st.floats(0.01, 1.0))
def test_dropped_terms_are_the_most_frequent(df: list[int], top: float, share: float) -> None:
    by_rank = set(dropped_terms(np.array(df, dtype=np.int64), 20, Pruning(drop_top_share=top)).tolist())
    kept = [df[i] for i in range(len(df)) if i not in by_rank]
    assert all(df[i] >= max(kept, default=0) for i in by_rank)
    by_share = dropped_terms(np.array(df, dtype=np.int64), 20, Pruning(max_df_share=share))
    assert all(df[i] > share * 20 for i in by_share)


@pytest.mark.parametrize(
    "arguments",
    [
        {"min_weight": -0.1}, {"min_weight": float("nan")}, {"min_weight": float("inf")}, {"min_weight": "1"},
        {"min_weight": True}, {"min_weight": 1e9}, {"top_k": 0}, {"top_k": -1}, {"top_k": 1.5}, {"top_k": True},
        {"top_k": 10**9}, {"max_df_share": 0.0}, {"max_df_share": 1.1}, {"max_df_share": float("nan")},
        {"drop_top_share": 1.0}, {"drop_top_share": -0.1}, {"drop_top_share": "1%"},
    ],
)  # fmt: skip
def test_bad_settings_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Pruning(**arguments)


def test_settings_survive_json() -> None:
    for pruning in (Pruning(), Pruning(min_weight=0.15, top_k=200, max_df_share=0.5, drop_top_share=0.01)):
        assert Pruning.from_json(json.loads(json.dumps(pruning.to_json()))) == pruning
    for bad in ({}, {**Pruning().to_json(), "kind": "words"}, {**Pruning().to_json(), "more": 1}):
        with pytest.raises(InvalidInput):
            Pruning.from_json(bad)
    with pytest.raises(FormatTooNew):
        Pruning.from_json({**Pruning().to_json(), "version": 2})
