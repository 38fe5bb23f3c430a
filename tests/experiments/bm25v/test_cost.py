"""Galleries that are made up to measure cost on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from experiments.bm25v.cost import made_up_terms, made_up_vectors


def test_made_up_galleries() -> None:
    indptr, indices, weights = made_up_terms(200, 16, 1_000)
    assert len(indptr) == 201 and len(indices) == len(weights) == indptr[-1]
    for a, b in pairwise(indptr.tolist()):
        assert 1 <= b - a <= 16 and np.all(np.diff(indices[a:b]) > 0)
    df = np.bincount(indices, minlength=1_000)
    assert df[:10].sum() > df[500:].sum()  # Zipfian
    assert np.allclose(np.linalg.norm(made_up_vectors(50, 32), axis=1), 1.0, atol=1e-5)
