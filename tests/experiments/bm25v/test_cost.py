"""Galleries that are made up to measure cost on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.bm25v import cost
from experiments.bm25v.cost import made_up_terms, made_up_vectors
from experiments.catalogue import run_table


def test_made_up_galleries() -> None:
    indptr, indices, weights = made_up_terms(200, 16, 1_000)
    assert len(indptr) == 201 and len(indices) == len(weights) == indptr[-1]
    for a, b in pairwise(indptr.tolist()):
        assert 1 <= b - a <= 16 and np.all(np.diff(indices[a:b]) > 0)
    df = np.bincount(indices, minlength=1_000)
    assert df[:10].sum() > df[500:].sum()  # Zipfian
    assert np.allclose(np.linalg.norm(made_up_vectors(50, 32), axis=1), 1.0, atol=1e-5)


def test_rare_terms_are_drawn_as_often_as_their_odds_say() -> None:
    """Whoever keeps the smallest ids of a row has only frequent terms: 623 of 18,432 in the first version."""
    indptr, indices, _ = made_up_terms(5_000, 16, 500)
    assert set(np.diff(indptr).tolist()) == {16}
    df = np.bincount(indices, minlength=500)
    assert df.min() > 0
    odds = 1.0 / np.arange(1, 501)
    assert df[50:100].sum() / df[400:].sum() == pytest.approx(odds[50:100].sum() / odds[400:].sum(), rel=0.1)


def test_every_method_gives_as_many_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, int] = {}

    def count(search: Callable[[int], Any], queries: Any) -> float:
        found = search(int(queries[0]))
        given[f"{len(given)}"] = len(found[0] if isinstance(found, tuple) else found)
        return 1.0

    pytest.importorskip("faiss")
    monkeypatch.setattr(cost, "DIM", 32)
    monkeypatch.setattr(cost, "_median", count)
    made = run_table("bm25v-latency", {"sizes": Path("2000,3000"), "hnsw-up-to": Path("2000")})
    assert set(given.values()) == {10}
    methods = ["visual", "dense (exact)", "two-stage K=200"]
    assert [(r["N"], r["method"]) for r in made.rows] == [
        *((2_000, m) for m in [*methods, "hnsw"]),
        *((3_000, m) for m in methods),
    ]
    assert made.missing == ["HNSW at 3,000: building it takes too long here (hnsw-up-to=2000)"]
    assert "before: " in made.notes[2]
