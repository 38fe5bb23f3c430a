"""Reranking: the papers' equations by hand, the order below K, ties, and parts that add up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.fuse import Ranking, Reranking
from zipfian.rerank import (
    PRESETS,
    VARIANTS,
    AdaptiveK,
    check_depth,
    context_coherence,
    preset,
    rerank_dense,
    rerank_late,
    rerank_training_free,
)
from zipfian.rerank.late import maxsim

NAN = float("nan")


def first_stage(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.permutation(1_000)[:n].astype(np.int64), np.sort(rng.random(n))[::-1].copy()


def first(docs: Any, scores: Any) -> Ranking:
    return Ranking.of("words", docs, scores)


def second(found: Ranking) -> Reranking:
    assert found.reranking is not None
    return found.reranking


def check_sums(found: Ranking) -> None:
    assert found.before is not None
    for row in range(len(found)):
        total = 0.0
        for part in second(found).parts[row]:
            total += float(part)
        assert total == found.scores[row]
    assert sorted(second(found).old_ranks.tolist()) == list(range(1, len(found) + 1))
    np.testing.assert_allclose(np.nansum(found.shares, axis=1), found.scores, rtol=1e-12, atol=1e-12)
    tail = second(found).old_ranks[second(found).refined :]
    assert np.all(np.diff(tail) > 0)  # coarse order below
    np.testing.assert_array_equal(
        found.scores[second(found).refined :], found.before.scores[second(found).old_ranks[second(found).refined :] - 1]
    )


def test_dense_orders_k_and_keeps_the_rest() -> None:
    docs, coarse = np.array([9, 4, 7, 1, 3]), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    found = rerank_dense(first(docs, coarse), np.array([0.1, 0.9, 0.5]))
    assert found.docs.tolist() == [4, 7, 9, 1, 3]
    assert second(found).old_ranks.tolist() == [2, 3, 1, 4, 5]
    assert found.scores.tolist() == [0.9, 0.5, 0.1, 2.0, 1.0]
    assert second(found).refined == 3
    check_sums(found)
    without = rerank_dense(first(docs, coarse), np.array([0.1, NAN, 0.5, 0.2]))
    assert without.docs.tolist() == [7, 1, 9, 4, 3]  # no vector: below, in its old order
    assert second(without).refined == 3
    check_sums(without)
    assert rerank_dense(first(docs, coarse), np.empty(0)).docs.tolist() == docs.tolist()


def test_ties_by_coarse_score_then_document() -> None:
    docs, coarse = np.array([8, 2, 5, 1]), np.array([3.0, 2.0, 2.0, 2.0])
    found = rerank_dense(first(docs, coarse), np.array([0.5, 0.5, 0.5, 0.5]))
    assert found.docs.tolist() == [8, 1, 2, 5]


def test_equations_10_and_11_by_hand() -> None:
    docs, coarse = np.array([0, 1]), np.array([0.9, 0.8])
    cross, text, context = np.array([0.30, 0.25]), np.array([0.50, NAN]), np.array([0.60, 0.40])
    found = rerank_training_free(first(docs, coarse), cross, text, context, tau=0.07)
    grown = [math.exp(s / 0.07) for s in (0.30, 0.50, 0.60)]
    w = [g / sum(grown) for g in grown]
    assert found.docs.tolist() == [0, 1]
    np.testing.assert_allclose(second(found).weights[0, :3], w, rtol=1e-12)
    assert found.scores[0] == pytest.approx(w[0] * 0.30 + w[1] * 0.50 + w[2] * 0.60, rel=1e-12)
    two = [math.exp(s / 0.07) for s in (0.25, 0.40)]  # no caption: the text term leaves the softmax
    v = [g / sum(two) for g in two]
    np.testing.assert_allclose(second(found).weights[1, [0, 2]], v, rtol=1e-12)
    assert np.isnan(second(found).weights[1, 1])
    assert found.scores[1] == pytest.approx(v[0] * 0.25 + v[1] * 0.40, rel=1e-12)
    check_sums(found)


def test_variants_use_their_signals_only() -> None:
    docs, coarse = first_stage(6)
    rng = np.random.default_rng(1)
    cross, text, context = rng.random(6), rng.random(6), rng.random(6)
    used = {"cross": [0], "cross+text": [0, 1], "cross+context": [0, 2], "all": [0, 1, 2]}
    for variant in VARIANTS:
        found = rerank_training_free(first(docs, coarse), cross, text, context, variant=variant)  # type: ignore[arg-type]
        there = np.flatnonzero(~np.isnan(second(found).signals[0, :3])).tolist()
        assert there == used[variant]
        np.testing.assert_allclose(np.nansum(second(found).weights[:, :3], axis=1), 1.0)
        check_sums(found)
    plain = rerank_training_free(first(docs, coarse), cross, variant="cross")
    assert plain.scores.tolist() == np.sort(cross)[::-1].tolist()
    np.testing.assert_array_equal(
        rerank_training_free(first(docs, coarse), cross, None, None).docs, plain.docs
    )  # nobody has captions or neighbours: cross alone


def test_tau_from_the_largest_signal_to_the_mean() -> None:
    docs, coarse = np.array([0]), np.array([1.0])
    signals = (np.array([0.2]), np.array([0.9]), np.array([0.4]))
    assert rerank_training_free(first(docs, coarse), *signals, tau=1e-3).scores[0] == pytest.approx(0.9)
    assert rerank_training_free(first(docs, coarse), *signals, tau=1e6).scores[0] == pytest.approx(0.5)


def test_context_is_the_mean_over_the_others() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((7, 5))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    wanted = [np.mean([unit[i] @ unit[j] for j in range(7) if j != i]) for i in range(7)]
    np.testing.assert_allclose(context_coherence(rows), wanted, rtol=1e-12)
    rows[3] = NAN
    some = context_coherence(rows)
    assert np.isnan(some[3])
    np.testing.assert_allclose(some[0], np.mean([unit[0] @ unit[j] for j in (1, 2, 4, 5, 6)]), rtol=1e-12)
    assert np.isnan(context_coherence(rows[:1])).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 10_000), st.sampled_from(VARIANTS))
def test_parts_add_up_and_nobody_is_lost(n: int, depth: int, seed: int, variant: str) -> None:
    docs, coarse = first_stage(n, seed)
    k = min(depth, n)
    rng = np.random.default_rng(seed)
    cross, text, context = (np.where(rng.random(k) < 0.2, NAN, np.rint(rng.random(k) * 4) / 4) for _ in range(3))
    found = rerank_training_free(first(docs, coarse), cross, text, context, variant=variant)  # type: ignore[arg-type]
    check_sums(found)
    assert sorted(found.docs.tolist()) == sorted(docs.tolist())
    assert np.all(np.diff(found.scores[: second(found).refined]) <= 0)
    cut = found.top(3)
    assert len(cut) == min(3, n) and cut.docs.tolist() == found.docs[:3].tolist()


def test_maxsim_by_hand() -> None:
    query = np.array([[1.0, 0.0], [0.0, 2.0]])
    documents = [np.array([[3.0, 0.0], [1.0, 1.0]]), np.empty((0, 2)), np.array([[0.0, 1.0]])]
    best, where = maxsim(query, documents)
    np.testing.assert_allclose(best[0], [1.0, math.sqrt(0.5)])
    assert where.tolist() == [[0, 1], [-1, -1], [0, 0]]
    assert np.isnan(best[1]).all()
    raw, _ = maxsim(query, documents, normalise=False)
    np.testing.assert_allclose(raw[0], [3.0, 2.0])
    docs, coarse = np.array([10, 11, 12, 13]), np.array([4.0, 3.0, 2.0, 1.0])
    found = rerank_late(first(docs, coarse), query, documents)
    assert found.docs.tolist() == [10, 12, 11, 13]
    assert second(found).about["places"][10] == [0, 1]
    check_sums(found)


def test_adaptive_k() -> None:
    chooser = AdaptiveK(least=20, most=200, skip_margin=3.0)
    clear = np.concatenate([[10.0], np.linspace(1.2, 1.0, 99)])
    found = chooser.choose(clear, 10)
    assert found.K == 0 and found.margin > 3.0 and "not reranked" in found.reason
    level = np.concatenate([np.full(30, 5.0), np.linspace(1.0, 0.5, 70)])
    assert chooser.choose(level, 10).K == 200
    assert chooser.choose(np.full(50, 1.0), 10).K == 200
    middle = np.linspace(5.0, 1.0, 100)
    unknown, rare, common = (chooser.choose(middle, 10, r).K for r in (None, 1.0, 0.0))
    assert 20 <= rare < unknown < common <= 200
    assert chooser.choose(middle, 190, 1.0).K == 190  # never fewer than the hits asked for
    assert chooser.choose(np.array([1.0]), 10).K == 0
    assert found.to_json()["K"] == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=120),
    st.integers(1, 50),
    st.floats(0, 1),
    st.floats(0.01, 100),
    st.floats(-50, 50),
)
def test_adaptive_k_does_not_see_unit_or_zero_point(
    values: list[float], k: int, rarity: float, unit: float, zero: float
) -> None:
    scores = np.sort(np.rint(np.array(values)))[::-1]
    chooser = AdaptiveK()
    one, two = chooser.choose(scores, k, rarity), chooser.choose(scores * unit + zero, k, rarity)
    assert abs(one.K - two.K) <= 10  # a step, where rounding falls on the other side
    assert one.K == 0 or max(chooser.least, k) <= one.K <= max(chooser.most, k)


def test_presets_are_frozen_and_keep_their_promise() -> None:
    for name in PRESETS:
        text, image = preset(name, "text"), preset(name, "image")
        assert text.rerank == "none" and text.name == image.name == name
        assert image.rerank == "none" or image.rerank_depth >= 100
        assert text.to_json()["fusion"]["method"] == "adaptive"
    assert preset("latency-first").query_encoder == "table" and not preset("latency-first").vectors
    quick, usual = preset("latency-first", "image"), preset("balanced", "image")
    assert (quick.vectors, quick.rerank, quick.adaptive_k) == (False, "dense", AdaptiveK())
    assert (usual.vectors, usual.rerank) == (True, "none"), "pictures are fused, not reordered"
    with pytest.raises(AttributeError):
        preset("balanced").rerank_depth = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d, c: check_depth(5, 10), "rerank_depth is 5, but k is 10"),
        (lambda d, c: check_depth(0, 10), "at least 1, not 0"),
        (lambda d, c: check_depth(2.5, 1), "whole number"),
        (lambda d, c: preset("fastest"), "unknown preset 'fastest'"),
        (lambda d, c: preset("balanced", "video"), "not 'video'"),
        (lambda d, c: rerank_dense(first(d, c), np.zeros(9)), "9 cosines for 5 candidates"),
        (lambda d, c: rerank_dense(first(d, c[::-1].copy()), np.zeros(2)), "descending"),
        (lambda d, c: rerank_dense(first(d, c[:3]), np.zeros(2)), "5.* documents"),
        (lambda d, c: rerank_dense(first(np.array([1, 1]), c[:2]), np.zeros(2)), "twice"),
        (lambda d, c: rerank_training_free(first(d, c), np.zeros(5), variant="text"), "unknown variant 'text'"),
        (lambda d, c: rerank_training_free(first(d, c), np.zeros(5), tau=0.0), "tau must be"),
        (lambda d, c: rerank_training_free(first(d, c), np.zeros(5), tau=NAN), "tau must be"),
        (lambda d, c: rerank_training_free(first(d, c), np.zeros(5), np.zeros(4)), "signal 'text'"),
        (lambda d, c: rerank_training_free(first(d, c), np.full(5, np.inf)), "infinite"),
        (lambda d, c: rerank_late(first(d, c), np.zeros((0, 3)), [np.ones((1, 3))]), "no tokens"),
        (lambda d, c: rerank_late(first(d, c), np.ones((1, 3)), [np.ones((1, 2))]), "dimensions"),
        (lambda d, c: rerank_late(first(d, c), np.full((1, 3), NAN), [np.ones((1, 3))]), "NaN"),
        (lambda d, c: rerank_late(first(d, c), np.ones(3), [np.ones((1, 3))]), "tokens x dimensions"),
        (lambda d, c: context_coherence(np.ones(3)), "matrix"),
        (lambda d, c: AdaptiveK(least=50, most=20), "more than most"),
        (lambda d, c: AdaptiveK(least=0), "at least 1"),
        (lambda d, c: AdaptiveK(skip_margin=NAN), "above 0"),
        (lambda d, c: AdaptiveK().choose(np.array([1.0, NAN]), 3), "finite"),
        (lambda d, c: AdaptiveK().choose(np.array([1.0, 0.5]), 3, 1.5), "rarity"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    docs, coarse = first_stage(5)
    with pytest.raises(InvalidInput, match=message):
        make(docs, coarse)
