"""Explanations of fused and reranked scores: every node is the sum of its parts, to the last bit.

Corrections of rounding are what closes the last bits; they are too small to hide a part that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused, explain_reranked
from zipfian.fuse import RRF, Adaptive, Fusion, Linear, Method, Ranking, gather
from zipfian.rerank import rerank_dense, rerank_late, rerank_training_free
from zipfian.types import Explanation


def check_sums(tree: Explanation) -> None:
    if tree.parts:
        total = 0.0
        for part in tree.parts:
            total += part.value
            check_sums(part)
        assert total == tree.value
        size = sum(abs(part.value) for part in tree.parts)
        assert abs(sum(part.value for part in tree.reasons) - tree.value) <= 1e-12 * size


def fusion_of(found: Ranking) -> Fusion:
    assert found.fusion is not None
    return found.fusion


def fused(method: Method, seed: int = 0) -> tuple[Ranking, dict[int, dict[str, Explanation]]]:
    """A fused ranking of 30 documents, and each field's own explanations with random terms."""
    rng = np.random.default_rng(seed)
    terms = rng.gamma(1.0, 3.0, (30, 4)) * (rng.random((30, 4)) < 0.6)
    words = np.zeros(30)
    for j in range(4):
        words += terms[:, j]
    dense = rng.uniform(-1, 1, 30)
    fields = []
    for name, scores, matching in (("words", words, words > 0), ("dense", dense, dense > -2)):
        docs = np.flatnonzero(matching)
        docs = docs[np.lexsort((docs, -scores[docs]))][:12]
        fields.append(Ranking.of(name, docs, scores[docs], 30, 1.0 if name == "words" else 0.5))
    covered = (terms > 0.0).mean(axis=1)
    found = method.fuse(gather(fields, lambda i, d: (words, dense)[i][d], None, (0, lambda docs: covered[docs])))
    trees = {
        d: {
            "words": Explanation(
                float(words[d]),
                "words: BM25",
                tuple(
                    Explanation(float(v), f"t{j}", (), {"tf": 1.0}, (), "term", "words", j)
                    for j, v in enumerate(terms[d])
                    if v > 0
                ),
                {"N": 30},
                kind="field",
                field="words",
            ),
            "dense": Explanation(float(dense[d]), "dense: cosine", kind="cosine", field="dense"),
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


def population(raw: np.ndarray, docs: np.ndarray) -> np.ndarray:
    """The scores a field is normalised by: its 12 best of the 30 documents, and 0 for the 18 it does not list."""
    best = np.sort(raw[docs])[::-1][:12]
    return np.concatenate([best, np.zeros(30 - len(best))])


def unit_and_zero(method: Method, scores: np.ndarray) -> tuple[float, float]:
    """What a raw score is divided by and counted from."""
    if isinstance(method, Linear) and method.normalise == "none":
        return 1.0, 0.0
    if isinstance(method, Linear) and method.normalise == "minmax":
        return float(scores.max() - scores.min()), float(scores.min())
    return float(np.sqrt(np.mean((scores - scores.mean()) ** 2))), float(scores.mean())


@pytest.mark.parametrize("method", [Adaptive(), Linear({"words": 3.0}), Linear(normalise="minmax"), Linear({}, "none")])
@pytest.mark.parametrize("seed", range(3))
def test_every_part_is_worked_out_by_hand(method: Method, seed: int) -> None:
    """Weight x raw part / unit for each term, and weight x zero point / unit taken off: no rest to hide in."""
    found, trees = fused(method, seed)
    raw = {field: np.array([trees[d][field].value for d in range(30)]) for field in ("words", "dense")}
    matching = {"words": np.flatnonzero(raw["words"] > 0), "dense": np.arange(30)}
    weight = {"words": 1.0, "dense": 0.5} if isinstance(method, Adaptive) else {"words": 1.0, "dense": 1.0}
    if isinstance(method, Linear):
        weight |= method.weights
    for doc in found.docs.tolist():
        tree = explain_fused(found, doc, trees[doc])
        total = 0.0
        for node, field in zip(tree.parts, ("words", "dense"), strict=True):
            unit, zero = unit_and_zero(method, population(raw[field], matching[field]))
            factor = weight[field] / unit
            terms = trees[doc][field].parts or (trees[doc][field],) * (field == "dense")
            shown = [part for part in node.parts if part.kind in ("term", "cosine")]
            told = [(part.kind, part.field, part.term) for part in shown]
            assert told == [(t.kind, t.field, t.term) for t in terms]
            assert [part.label for part in shown] == (["score"] if field == "dense" else [t.label for t in terms])
            assert [part.value for part in shown] == pytest.approx([t.value * factor for t in terms], rel=1e-12)
            if field == "words":
                assert [part.details for part in shown] == [{"tf": 1.0, "raw": t.value} for t in terms]
            less = [part for part in node.parts if part.kind == "baseline"]
            assert [part.value for part in less] == pytest.approx([-zero * factor] * bool(zero), rel=1e-12)
            assert all(part.field == field and part.label.startswith("less what") for part in less)
            rounding = [part for part in node.parts if part.kind == "correction"]
            assert sum(abs(part.value) for part in rounding) < 1e-12
            extra = [part for part in node.parts if part.kind == "coverage"]
            rewards = fusion_of(found).reward
            reward = 0.0 if rewards is None or field != "words" else rewards[found.docs.tolist().index(doc)]
            assert [part.value for part in extra] == [reward] * bool(reward)
            assert all("words asked for" in part.label or "word asked for" in part.label for part in extra)
            assert len(node.parts) == len(shown) + len(less) + len(rounding) + len(extra)
            share = weight[field] * (raw[field][doc] - zero) / unit + reward
            assert node.value == pytest.approx(share, rel=1e-9, abs=1e-12)
            total += share
        assert tree.value == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_parts_of_parts_and_their_places_are_carried_along() -> None:
    """A field whose terms come apart again: every level is scaled by the same factor, and keeps what it shows."""
    found, trees = fused(Linear(normalise="minmax"))
    doc = int(found.docs[0])
    deep = Explanation(3.0, "b", (Explanation(1.0, "c", evidence=({"start": 4},)), Explanation(2.0, "d")))
    raw = trees[doc]["words"].value
    field = Explanation(raw, "words: BM25", (Explanation(raw - 3.0, "a"), deep))
    node = explain_fused(found, doc, {**trees[doc], "words": field}).parts[0]
    numbers = fusion_of(found).populations[0]
    factor = 1.0 / (numbers["high"] - numbers["low"])
    assert [part.label for part in node.parts[:2]] == ["a", "b"]
    assert [part.value for part in node.parts[:2]] == pytest.approx([(raw - 3.0) * factor, 3.0 * factor], rel=1e-14)
    below = node.parts[1].parts
    assert [(part.label, part.evidence) for part in below] == [("c", ({"start": 4},)), ("d", ())]
    assert [part.value for part in below] == pytest.approx([factor, 2.0 * factor], rel=1e-14)
    assert [part.details["raw"] for part in below] == [1.0, 2.0]


def test_ranks_have_no_parts() -> None:
    """A share of 1 / (60 + rank) is not made of the terms' scores, so none are shown under it."""
    found, trees = fused(RRF())
    doc = int(found.docs[0])
    tree = explain_fused(found, doc, trees[doc])
    ranks = [int(found.ranks[0, i]) or 1_001 for i in range(2)]
    assert [part.value for part in tree.parts] == pytest.approx([1 / (60 + r) for r in ranks], rel=1e-15)
    assert [part.parts for part in tree.parts] == [(), ()]


def test_a_field_shows_raw_mean_deviation_and_weight() -> None:
    found, trees = fused(Adaptive())
    doc = int(found.docs[0])
    node = explain_fused(found, doc, trees[doc]).parts[0]
    d = node.details
    (extra,) = [part for part in node.parts if part.kind == "coverage"]
    assert extra.details["covered"] == 1.0 and extra.label.startswith("has every word asked for")
    assert node.value == pytest.approx(d["weight"] * (d["raw"] - d["mean"]) / d["deviation"] + extra.value)
    assert d["weight"] == 1.0
    assert d["rank"] == (int(found.ranks[0, 0]) or None) and d["N"] == 30
    term = node.parts[0]
    assert term.value == pytest.approx(term.details["raw"] * d["weight"] / d["deviation"])
    less = next(part for part in node.parts if part.kind == "baseline")
    assert less.label == "less what its best documents score on average"
    assert less.value == pytest.approx(-d["mean"] * d["weight"] / d["deviation"], rel=1e-12)


def test_a_missing_vector_is_said_plainly() -> None:
    fields = [
        Ranking.of("words", np.array([0]), np.array([2.0]), 3),
        Ranking.of("dense", np.array([1, 2]), np.array([0.5, 0.1]), 2),
    ]
    found = Adaptive().fuse(gather(fields, lambda i, d: np.full(len(d), np.nan) if i else np.zeros(len(d))))
    tree = explain_fused(found, 0, {"dense": Explanation(0.0, "dense: no vector")})
    assert tree.parts[1].details["raw"] is None
    check_sums(tree)


def test_reranked_scores() -> None:
    found, trees = fused(Adaptive())
    rng = np.random.default_rng(0)
    cross, text, context = rng.random((3, 5))
    refined = rerank_training_free(found, cross, text, context)
    for doc in refined.docs.tolist():
        below = explain_fused(found, doc, trees[doc])
        tree = explain_reranked(refined, doc, below)
        check_sums(tree)
        row = refined.docs.tolist().index(doc)
        assert tree.value == refined.scores[row]
        assert refined.reranking is not None and tree.details["old_rank"] == refined.reranking.old_ranks[row]
        assert tree.details["old_score"] == below.value
        if row >= 5:
            assert tree.parts == (below,)
            continue
        old = found.docs.tolist().index(doc)
        signals = {"cross": cross[old], "text": text[old], "context": context[old]}
        grown = {name: np.exp(value / 0.07) for name, value in signals.items()}
        weights = {name: value / sum(grown.values()) for name, value in grown.items()}
        assert [(part.label, part.kind) for part in tree.parts] == [(s, "signal") for s in ("cross", "text", "context")]
        for part in tree.parts:
            assert part.details == pytest.approx({"signal": signals[part.label], "weight": weights[part.label]})
            assert part.value == pytest.approx(signals[part.label] * weights[part.label], rel=1e-12)


def test_late_interaction_names_the_tokens() -> None:
    docs, scores = np.array([4, 2]), np.array([2.0, 1.0])
    found = rerank_late(Ranking.of("words", docs, scores), np.eye(2), [np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)])
    tree = explain_reranked(found, 4)
    assert [p.evidence for p in tree.parts] == [({"token": 1},), ({"token": 0},)]
    assert [p.kind for p in tree.parts] == ["token", "token"]
    check_sums(tree)


def test_bad_input() -> None:
    found, _ = fused(Adaptive())
    with pytest.raises(InvalidInput, match="not among"):
        explain_fused(found, 999)
    refined = rerank_training_free(found, np.zeros(1))
    with pytest.raises(InvalidInput, match="first stage's explanation"):
        explain_reranked(refined, int(refined.docs[-1]), Explanation(1e9, "wrong"))


def thinned(tree: Explanation) -> Explanation:
    return replace(tree, parts=tree.parts[1:])


def halved(tree: Explanation) -> Explanation:
    first, *rest = tree.parts
    return replace(tree, parts=(replace(first, value=first.value / 2.0), *rest))


@pytest.mark.parametrize("spoil", [thinned, halved])
@pytest.mark.parametrize("method", [Adaptive(), Linear(), Linear(normalise="minmax"), Linear(normalise="none")])
def test_parts_that_do_not_make_the_score_are_refused(
    method: Method, spoil: Callable[[Explanation], Explanation]
) -> None:
    """More than rounding is missing: it is not passed off as a correction."""
    found, trees = fused(method)
    doc = next(doc for doc in found.docs.tolist() if len(trees[doc]["words"].parts) > 1)
    with pytest.raises(InvalidInput, match=r"the explanation of field 'words' comes to .* but its score is"):
        explain_fused(found, doc, {**trees[doc], "words": spoil(trees[doc]["words"])})


def test_scores_of_32_bits_are_explained_all_the_same() -> None:
    """What a cluster's sums are off by is a correction, and a small one."""
    found, trees = fused(Adaptive())
    doc = next(doc for doc in found.docs.tolist() if len(trees[doc]["words"].parts) > 1)
    tree = trees[doc]["words"]
    rounded = replace(tree, parts=tuple(replace(p, value=float(np.float32(p.value))) for p in tree.parts))
    node = explain_fused(found, doc, {**trees[doc], "words": rounded}).parts[0]
    total = 0.0
    for part in node.parts:
        total += part.value
    assert total == node.value
    corrections = [abs(part.value) for part in node.parts if part.kind == "correction"]
    assert 0.0 < sum(corrections) < 1e-6 * sum(abs(part.value) for part in node.parts)
    refined = rerank_training_free(found, np.zeros(1))
    last = int(refined.docs[-1])
    near = explain_reranked(refined, last, Explanation(float(np.float32(refined.scores[-1])), "first stage"))
    assert near.parts[0].value + near.parts[1].value == near.value and near.parts[1].kind == "correction"


def test_corrections_are_in_the_tree_but_not_shown() -> None:
    for seed in range(20):
        found, trees = fused(Adaptive(), seed)
        for doc in found.docs.tolist():
            tree = explain_fused(found, doc, trees[doc])
            node = next((node for node in tree.parts if node.reasons != node.parts), None)
            if node is not None:
                assert [part.kind for part in node.parts if part not in node.reasons] == ["correction"]
                assert "rounding" not in str(tree)
                assert "rounding" in str(tree.to_dict())
                return
    raise AssertionError("no sum needed a correction: the test says nothing")


def test_every_node_says_what_it_is() -> None:
    found, trees = fused(Adaptive())
    doc = int(found.docs[0])
    tree = explain_fused(found, doc, trees[doc])
    assert (tree.kind, tree.field, tree.term) == ("fusion", None, None)
    assert [(part.kind, part.field) for part in tree.parts] == [("field", "words"), ("field", "dense")]
    assert [(part.kind, part.field) for part in explain_fused(found, doc).parts] == [
        ("field", "words"),
        ("field", "dense"),
    ]
    term = tree.parts[0].parts[0]
    assert tree.parts[0].to_dict()["parts"][0] == {
        "value": term.value, "label": term.label, "kind": "term", "field": "words", "term": term.term,
        "details": dict(term.details),
    }  # fmt: skip
    assert Explanation(1.0, "x").to_dict() == {"value": 1.0, "label": "x", "kind": "score"}
    refined = rerank_training_free(found, np.ones(2), np.zeros(2), fields=("photo", "caption", "photo"))
    signals = explain_reranked(refined, int(refined.docs[0]))
    assert signals.kind == "rerank"
    assert [(part.kind, part.field) for part in signals.parts] == [("signal", "photo"), ("signal", "caption")]
    one = rerank_dense(found, np.array([0.5]))
    (cosine,) = explain_reranked(one, int(one.docs[0])).parts
    assert (cosine.kind, cosine.field, cosine.value) == ("cosine", "dense", 0.5)
    assert explain_reranked(one, int(one.docs[1])).kind == "rerank"
