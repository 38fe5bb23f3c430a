from __future__ import annotations

import math
import sys

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.measures import depth_for, evaluate, means, split_key

QRELS = {"q1": {"a": 2, "b": 1, "c": 1}, "q2": {"x": 1}, "q3": {"y": 1}}
RUN = {
    "q1": [("a", 9.0), ("n", 8.0), ("b", 7.0), ("m", 6.0)],
    "q2": [("n", 1.0), ("x", 1.0)],
    "other": [("a", 1.0)],
}
L2, L3, L4 = math.log2(2), math.log2(3), math.log2(4)


@pytest.mark.parametrize(
    ("key", "q1", "q2"),
    [
        ("ndcg@10", (2 / L2 + 1 / L4) / (2 / L2 + 1 / L3 + 1 / L4), 1 / L3),
        ("ndcg_exp@10", (3 / L2 + 1 / L4) / (3 / L2 + 1 / L3 + 1 / L4), 1 / L3),
        ("recall@1", 1 / 3, 0.0),
        ("recall@10", 2 / 3, 1.0),
        ("r@1", 1.0, 0.0),
        ("r@5", 1.0, 1.0),
        ("mrr", 1.0, 0.5),
        ("mrr@1", 1.0, 0.0),
        ("mrr@10", 1.0, 0.5),
        ("map", (1 + 2 / 3) / 3, 0.5),
        ("p@2", 0.5, 0.5),
    ],
)
def test_against_values_by_hand(key: str, q1: float, q2: float) -> None:
    found = evaluate(RUN, QRELS, [key])[key]
    assert found == pytest.approx({"q1": q1, "q2": q2, "q3": 0.0})


def test_against_ir_measures_itself() -> None:
    keys = {
        "ndcg@10": ir_measures.nDCG @ 10,
        "recall@100": ir_measures.R @ 100,
        "r@1": ir_measures.Success @ 1,
        "mrr@10": ir_measures.RR @ 10,
        "map": ir_measures.AP,
    }
    plain = {q: {d: float(10 - i) for i, (d, _) in enumerate(hits)} for q, hits in RUN.items() if q in QRELS}
    ours = means(evaluate(RUN, QRELS, list(keys)))
    for key, measure in keys.items():
        assert ours[key] == pytest.approx(ir_measures.calc_aggregate([measure], QRELS, plain)[measure])


def test_equal_scores_keep_the_order_of_the_ranking() -> None:
    assert evaluate({"q2": [("x", 1.0), ("z", 1.0)]}, {"q2": {"x": 1}}, ["r@1"])["r@1"] == {"q2": 1.0}
    assert evaluate({"q2": [("z", 1.0), ("x", 1.0)]}, {"q2": {"x": 1}}, ["r@1"])["r@1"] == {"q2": 0.0}


def test_an_empty_run_is_all_zeros() -> None:
    assert evaluate({}, QRELS, ["ndcg@10", "map"]) == {k: dict.fromkeys(QRELS, 0.0) for k in ("ndcg@10", "map")}


@given(st.permutations(list("abcdefgh")), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_success_grows_with_k_and_bounds_recall(order: list[str], relevant: set[str]) -> None:
    keys = ["r@1", "r@5", "r@10", "recall@1", "recall@5", "recall@10", "mrr", "map"]
    run = {"q": [(d, 0.0) for d in order]}
    v = means(evaluate(run, {"q": dict.fromkeys(relevant, 1)}, keys))
    assert v["r@1"] <= v["r@5"] <= v["r@10"] == 1.0
    assert all(v[f"recall@{k}"] <= v[f"r@{k}"] for k in (1, 5, 10))
    first = 1 + min(order.index(d) for d in relevant)
    assert v["mrr"] == pytest.approx(1 / first)
    precisions = [sum(d in relevant for d in order[: i + 1]) / (i + 1) for i, d in enumerate(order) if d in relevant]
    assert v["map"] == pytest.approx(sum(precisions) / len(relevant))


@pytest.mark.parametrize("key", ["", "ndcg", "ndcg@0", "recall", "r@", "R@1", "map@x", "bpref", "ndcg@10 "])
def test_unknown_measures(key: str) -> None:
    with pytest.raises(InvalidInput, match="unknown measure"):
        split_key(key)


def test_depth_covers_every_cutoff() -> None:
    assert depth_for(["ndcg@10", "map"], 100) == 100
    assert depth_for(["recall@1000", "map"], 100) == 1000


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="no judged queries"):
        evaluate(RUN, {}, ["map"])
    with pytest.raises(InvalidInput, match="names a document twice"):
        evaluate({"q2": [("x", 1.0), ("x", 0.5)]}, QRELS, ["map"])
    with pytest.raises(InvalidInput, match="grades up to 30"):
        evaluate(RUN, {"q1": {"a": 31}}, ["ndcg_exp@10"])


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"zipfian\[eval\]"):
        evaluate(RUN, QRELS, ["map"])
