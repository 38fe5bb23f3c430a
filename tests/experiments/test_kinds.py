"""Uses of visual words as matrix work: the same numbers as the index gives."""

from __future__ import annotations

import numpy as np
import pytest

import zipfian as zf
from experiments.kinds import BEFORE, NOW, USES, Kind, Use, bags, price, scored
from zipfian.fields import Visual
from zipfian.retrieve.scoring import BM25, Dot

N_TERMS = 12


@pytest.fixture
def kind() -> Kind:
    """Six pictures of four patches, two of each class; the last is a copy of the first."""
    rng = np.random.default_rng(5)
    terms = rng.integers(0, N_TERMS, (6, 4, 3)).astype(np.uint16)
    values = np.sort(rng.uniform(0.1, 3.0, (6, 4, 3)).astype(np.float32), axis=2)[:, :, ::-1]
    terms[5], values[5] = terms[0], values[0]
    vectors = rng.normal(size=(6, 5)).astype(np.float32)
    own = np.eye(6, dtype=np.bool_)
    own[0, 5] = own[5, 0] = True
    classes = np.array([0, 0, 1, 1, 2, 2])
    return Kind("toy", classes, np.array([True, False] * 3), own, vectors, terms, values)


def test_patches_become_pictures(kind: Kind) -> None:
    for pooling in ("sum", "max"):
        found = bags(kind, Use(2, pooling, None, BM25()), N_TERMS).toarray()  # type: ignore[arg-type]
        wanted = np.zeros(N_TERMS)
        for patch in range(4):
            for place in range(2):
                term, value = kind.terms[1, patch, place], float(kind.values[1, patch, place])
                wanted[term] = wanted[term] + value if pooling == "sum" else max(wanted[term], value)
        assert found[1] == pytest.approx(np.rint(wanted * 100) / 100)
    capped = bags(kind, Use(3, "sum", 2, BM25()), N_TERMS)
    whole = bags(kind, Use(3, "sum", None, BM25()), N_TERMS).toarray()
    assert np.diff(capped.indptr).tolist() == [2] * 6
    assert capped.toarray().sum(axis=1) == pytest.approx(np.sort(whole, axis=1)[:, -2:].sum(axis=1))


@pytest.mark.parametrize("formula", [BM25(8.0, 0.7, phi="sqrt"), BM25(1.5, 0.75), Dot(phi="sqrt")], ids=str)
def test_scores_are_those_of_the_index(kind: Kind, formula: BM25 | Dot) -> None:
    pictures = bags(kind, Use(3, "sum", 4, formula), N_TERMS)
    ids, weights = pictures.indices.astype(np.int32), pictures.data.astype(np.float32)
    index = zf.SparseIndex.from_csr(pictures.indptr.astype(np.int64), ids, weights, N_TERMS, scoring=formula)
    scores = scored(pictures, formula)
    for row in range(6):
        part = slice(pictures.indptr[row], pictures.indptr[row + 1])
        docs, found = index.search(ids[part], weights=weights[part], k=6)
        assert scores[row, docs] == pytest.approx(found, rel=1e-5)
    assert price(pictures, formula)["postings"] == 4.0


def test_the_picture_itself_is_no_answer(kind: Kind) -> None:
    scores = np.where(kind.own, 9.0, 0.0).astype(np.float32)
    scores[[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 0, 1]] = 5.0  # the last two find another class
    assert kind.found(scores) == (2 / 3, 2 / 3)
    scores[5, 4] = 6.0
    assert kind.found(scores) == (2 / 3, 1.0)


def test_deviations_are_of_the_others(kind: Kind) -> None:
    scores = np.array([[90.0, 1.0, 2.0, 3.0, 4.0, 90.0]] * 6, np.float32)
    standard = kind.standard(scores)
    best = np.array([4.0, 3.0, 2.0, 1.0])
    assert standard[0, 1:5] == pytest.approx((np.array([1.0, 2.0, 3.0, 4.0]) - best.mean()) / best.std())


def test_what_is_called_now_is_the_default() -> None:
    field = Visual()
    use = field.vocabulary.defaults
    assert (use.k, use.pooling, use.k_post) == (NOW.k, NOW.pooling, NOW.cap) and field.scoring == NOW.scoring
    assert len(set(map(str, USES))) == len(USES) and BEFORE in USES and NOW in USES
