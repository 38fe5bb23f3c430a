"""Explanations of fused and reranked scores: every node is the sum of its parts, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused, explain_reranked
from zipfian.fuse import RRF, Adaptive, Fused, LegList, Linear, Method, gather
from zipfian.rerank import rerank_late, rerank_training_free
from zipfian.types import Explanation


def check_sums(tree: Explanation) -> None:
    if tree.parts:
        total = 0.0
        for part in tree.parts:
            total += part.value
            check_sums(part)
        assert total == tree.value


def fused(method: Method, seed: int = 0) -> tuple[Fused, dict[int, dict[str, Explanation]]]:
    """A fused ranking of 30 documents, and each leg's own explanations with random terms."""
    rng = np.random.default_rng(seed)
    terms = rng.gamma(1.0, 3.0, (30, 4)) * (rng.random((30, 4)) < 0.6)
    words = np.zeros(30)
    for j in range(4):
        words += terms[:, j]
    dense = rng.uniform(-1, 1, 30)
    legs = []
    for name, scores, matching in (("words", words, words > 0), ("dense", dense, dense > -2)):
        docs = np.flatnonzero(matching)
        docs = docs[np.lexsort((docs, -scores[docs]))][:12]
        legs.append(LegList(name, docs, scores[docs], 30, coverage=0.95 if name == "words" else None))
    found = method.fuse(gather(legs, lambda i, d: (words, dense)[i][d]))
    trees = {
        d: {
            "words": Explanation(
                float(words[d]),
                "words: BM25",
                tuple(Explanation(float(v), f"t{j}", (), {"tf": 1.0}) for j, v in enumerate(terms[d]) if v > 0),
                {"N": 30},
            ),
            "dense": Explanation(float(dense[d]), "dense: cosine"),
        }
        for d in range(30)
    }
    return found, trees


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([Adaptive(), Linear(), Linear(normalise="minmax"), Linear(normalise="none"), RRF()]),
)
def test_parts_sum_down_to_the_terms(seed: int, method: Method) -> None:
    found, trees = fused(method, seed)
    for row, doc in enumerate(found.docs.tolist()):
        tree = explain_fused(found, doc, trees[doc])
        assert tree.value == found.scores[row]
        check_sums(tree)
        plain = explain_fused(found, doc)
        check_sums(plain)
        assert [p.value for p in plain.parts] == found.shares[row].tolist()


def test_a_leg_shows_raw_mean_deviation_and_weight() -> None:
    found, trees = fused(Adaptive())
    doc = int(found.docs[0])
    node = explain_fused(found, doc, trees[doc]).parts[0]
    d = node.details
    assert node.value == pytest.approx(d["weight"] * (d["raw"] - d["mean"]) / d["deviation"])
    assert d["weight"] == pytest.approx(0.95**8)
    assert d["rank"] == (int(found.ranks[0, 0]) or None) and d["N"] == 30
    term = node.parts[0]
    assert term.value == pytest.approx(term.details["raw"] * d["weight"] / d["deviation"])
    assert node.parts[-1].value < 0 or node.parts[-1].label == "rounding"


def test_a_missing_vector_is_said_plainly() -> None:
    legs = [
        LegList("words", np.array([0]), np.array([2.0]), 3),
        LegList("dense", np.array([1, 2]), np.array([0.5, 0.1]), 2),
    ]
    found = Adaptive().fuse(gather(legs, lambda i, d: np.full(len(d), np.nan) if i else np.zeros(len(d))))
    tree = explain_fused(found, 0, {"dense": Explanation(0.0, "dense: no vector")})
    assert tree.parts[1].details["raw"] is None
    check_sums(tree)


def test_reranked_scores() -> None:
    found, trees = fused(Adaptive())
    rng = np.random.default_rng(0)
    refined = rerank_training_free(found.docs, found.scores, rng.random(5), rng.random(5), rng.random(5))
    for doc in refined.docs.tolist():
        below = explain_fused(found, doc, trees[doc])
        tree = explain_reranked(refined, doc, below)
        check_sums(tree)
        row = refined.docs.tolist().index(doc)
        assert tree.value == refined.scores[row]
        assert tree.details["old_rank"] == refined.old_ranks[row]
        assert tree.details["old_score"] == below.value
        assert (tree.parts == (below,)) == (row >= 5)


def test_late_interaction_names_the_tokens() -> None:
    docs, scores = np.array([4, 2]), np.array([2.0, 1.0])
    found = rerank_late(docs, scores, np.eye(2), [np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)])
    tree = explain_reranked(found, 4)
    assert [p.evidence for p in tree.parts] == [({"token": 1},), ({"token": 0},)]
    check_sums(tree)


def test_bad_input() -> None:
    found, _ = fused(Adaptive())
    with pytest.raises(InvalidInput, match="not among"):
        explain_fused(found, 999)
    refined = rerank_training_free(found.docs, found.scores, np.zeros(1))
    with pytest.raises(InvalidInput, match="first stage's explanation"):
        explain_reranked(refined, int(refined.docs[-1]), Explanation(1e9, "wrong"))
