"""Curves of effectiveness against effort: what the numbers mean."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from experiments.surrogate import curve
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import half_of
from zipfian.vocabulary.scalar import ScalarVocabulary


@pytest.fixture(scope="module")
def sets() -> curve.Sets:
    """Ten classes around ten directions."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((10, 64))

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        label = rng.integers(0, 10, n)
        rows = centres[label] + 1.6 * rng.standard_normal((n, 64)) + 0.5
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), label

    documents, of_documents = draw(400)
    queries, of_queries = draw(40)
    return curve.Sets(documents, queries, of_queries[:, None] == of_documents[None, :])


def test_average_precision() -> None:
    """By hand: documents 0 and 2 are right; precision goes 1, 1/1 | 1/2, 2/3 around them in the order 0 1 2 3."""
    relevant = np.array([[True, False, True, False]])

    def found(*order: int) -> list[float]:
        return list(curve.average_precisions([np.array(order, np.int64)], relevant)[:, 0])

    assert found(0, 1, 2, 3) == pytest.approx([(1 + (1 / 2 + 2 / 3) / 2) / 2, (1 + 2 / 3) / 2])
    assert found(1, 0, 2) == pytest.approx([((0 + 1 / 2) / 2 + (1 / 2 + 2 / 3) / 2) / 2, (1 / 2 + 2 / 3) / 2])
    assert found(0) == pytest.approx([0.5, 0.5]), "never found counts"
    assert found() == [0.0, 0.0]


def test_the_area_is_that_of_the_trapezoids() -> None:
    """Precision and recall after every rank, starting from (0, 1), and numpy's own rule."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        relevant = rng.random((1, 30)) < 0.3
        relevant[0, 0] = True
        order = rng.permutation(30)
        hits = np.cumsum(relevant[0, order])
        precision = np.concatenate([[1.0], hits / np.arange(1, 31)])
        recall = np.concatenate([[0.0], hits / hits[-1]])
        assert curve.average_precisions([order], relevant)[0, 0] == pytest.approx(np.trapezoid(precision, recall))


def test_denser_codes_read_more_and_find_more(sets: curve.Sets) -> None:
    points = list(curve.scalar_points(sets, gammas=(4.0, 8.0, 16.0, 1000.0)))
    assert [p.s_db for p in points] == sorted(p.s_db for p in points) and points[0].s_db < points[-1].s_db
    assert points[0].map < points[-1].map
    best = curve.brute_force(sets)
    assert best.s_db == 1.0 and points[-1].map > 0.9 * best.map
    assert points[-1].s_db <= 1.0 and points[-1].postings <= 64


def test_crelu_beats_plain_and_bm25_is_another_row(sets: curve.Sets) -> None:
    (crelu,) = curve.scalar_points(sets, gammas=(12.0,))
    (plain,) = curve.scalar_points(sets, gammas=(12.0,), crelu=False)
    (bm25,) = curve.scalar_points(sets, gammas=(12.0,), scoring="bm25")
    assert crelu.map > plain.map and plain.postings < crelu.postings
    assert bm25.s_db == crelu.s_db and bm25.map != crelu.map
    assert bm25.method == "SQ CReLU, BM25"


def test_halves_go_by_the_sha1_of_the_names_and_ignored_documents_leave_the_ranking() -> None:
    documents = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32)
    queries = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    relevant = np.array([[False, True, False], [True, False, False]])
    names = ["1", "0"]
    assert [half_of(n) for n in names] == [
        "odd" if int(hashlib.sha1(n.encode()).hexdigest(), 16) % 2 else "even" for n in names
    ]
    assert {half_of(n) for n in names} == {"even", "odd"}
    point = curve.brute_force(curve.Sets(documents, queries, relevant, names))
    by_half = {half_of("1"): (0 + 1 / 2) / 2, half_of("0"): (0 + 1 / 3) / 2}
    assert (point.map_even, point.map_odd) == pytest.approx((by_half["even"], by_half["odd"]))
    assert point.map_steps == pytest.approx((1 / 2 + 1 / 3) / 2)
    own = (frozenset({0}), frozenset({2, 1}))
    assert curve.brute_force(curve.Sets(documents, queries, relevant, names, own)).map == 1.0
    with pytest.raises(InvalidInput, match="judgements of shape"):
        curve.Sets(documents, queries, relevant.T)
    with pytest.raises(InvalidInput, match="1 names for 2 queries"):
        curve.Sets(documents, queries, relevant, ["a"])


@pytest.mark.parametrize("crelu", [True, False])
def test_frequencies_are_those_of_the_vocabulary(sets: curve.Sets, crelu: bool) -> None:
    made = ScalarVocabulary.fit([sets.documents], gamma=9.0, scale=50.0, crelu=crelu)
    for vectors, terms in ((sets.documents - made.mean, made.terms), (sets.queries, made.query_terms)):
        rows = curve.frequencies(made, np.stack([made.rotation @ v for v in vectors]))
        given = sets.documents if len(vectors) == len(sets.documents) else sets.queries
        for row, vector in zip(rows, given, strict=True):
            found = terms(vector)
            assert np.flatnonzero(row).tolist() == found.ids.tolist()
            assert row[found.ids].tolist() == found.weights.tolist()


def test_share_of_the_database_by_hand() -> None:
    unit = np.eye(4, dtype=np.float32)
    (point,) = curve.scalar_points(curve.Sets(unit, unit[:1], np.eye(1, 4, dtype=bool)), gammas=(1e6,), scale=1e4)
    # every document has 4 components off the mean, hence 4 terms; a rotated unit query has up to 4 of 8 terms
    assert point.postings == 4 and 0.0 < point.s_db <= 1.0


def test_ivfpq(sets: curve.Sets) -> None:
    pytest.importorskip("faiss")
    points = list(curve.ivfpq_points(sets, sets.documents, name="x", lists=8, parts=16, nprobes=(1, 8)))
    assert points[0].s_db < points[1].s_db == pytest.approx(1.0) and points[1].map > 0.5


def test_nearest() -> None:
    documents = np.eye(5, dtype=np.float32)
    found = curve.nearest(documents, documents[:2], 1)
    assert found[0, 0] and found[1, 1] and found.sum() == 2
    without = curve.nearest(documents, documents[:2], 1, exclude=lambda i: i)
    assert not without[0, 0]
