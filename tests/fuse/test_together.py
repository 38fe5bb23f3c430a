"""A picture and words together: what pleases one side and not the other is not what was asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zipfian.errors import InvalidInput
from zipfian.explain.fusion import explain_fused
from zipfian.fuse import Adaptive, Candidates, Ranking, gather
from zipfian.fuse.methods import method_from_json
from zipfian.types import Explanation

N = 100


def candidates(absent: float = 0.0) -> Candidates:
    """One document that only the picture field likes, one that only the words like, and one that both like a little."""
    looks = Ranking.of("looks", np.array([0, 1, 3]), np.array([10.0, 4.0, 1.0]), n_scored=N)
    words = Ranking.of("words", np.array([2, 1, 3]), np.array([10.0, 4.0, 1.0]), n_scored=N)
    return gather([looks, words], lambda i, docs: np.full(len(docs), absent))


def test_both_sides_count() -> None:
    assert Adaptive().fuse(candidates()).docs.tolist()[:3] == [0, 2, 1], "a sum gives it to whoever is best in one"
    assert Adaptive(together=True).fuse(candidates()).docs.tolist() == [1, 3, 0, 2]


def test_by_hand() -> None:
    found = Adaptive({"looks": 0.5, "words": 2.0}, together=True).fuse(candidates())
    scores = np.array([10.0, 4.0, 1.0] + [0.0] * (N - 3))
    z = {raw: (raw - scores.mean()) / scores.std() for raw in (0.0, 1.0, 4.0, 10.0)}
    log = {raw: math.log(1.0 / (1.0 + math.exp(-value))) for raw, value in z.items()}
    wanted = {0: (10.0, 0.0), 1: (4.0, 4.0), 2: (0.0, 10.0), 3: (1.0, 1.0)}
    for doc, row in found.rows.items():
        looks, words = wanted[doc]
        assert found.shares[row].tolist() == pytest.approx([0.5 * log[looks], 2.0 * log[words]], rel=1e-12)
        assert found.scores[row] == found.shares[row, 0] + found.shares[row, 1]


def test_no_document_outside_is_above_what_is_proved() -> None:
    found = Adaptive(together=True).fuse(candidates())
    assert found.fusion is not None and found.fusion.proved == 1, "others may be level with the third"
    assert (found.scores < 0.0).all(), "the logarithm of a chance"


def test_a_document_without_one_side_is_judged_by_the_other() -> None:
    found = Adaptive(together=True).fuse(candidates(absent=math.nan))
    assert found.docs.tolist()[0] != 1 and np.isfinite(found.scores).all()


def test_explained() -> None:
    found = Adaptive(together=True).fuse(candidates())
    tree = explain_fused(found, 1, {"looks": Explanation(4.0, "looks"), "words": Explanation(4.0, "words")})
    assert tree.label == "fused: adaptive, as every field agrees"
    assert tree.value == found.scores[0] == sum(part.value for part in tree.parts)
    assert [part.details["normalised"] * part.details["weight"] for part in tree.parts] == [p.value for p in tree.parts]


def test_settings() -> None:
    made = Adaptive({"looks": 2.0}, together=True)
    assert method_from_json(made.to_json()) == made != Adaptive({"looks": 2.0})
    assert Adaptive().to_json() == {"method": "adaptive", "weights": {}}
    with pytest.raises(InvalidInput, match="together is True or False, not 'yes'"):
        Adaptive(together="yes")  # type: ignore[arg-type]
