"""A collection on disk and the engine in memory give the same answers where they hold the same weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.equality.compare import FORMULAS
from zipfian.fields import Sparse
from zipfian.retrieve.scoring import Scoring
from zipfian.types import Terms

N_TERMS = 300


def vectors(seed: int, n: int) -> list[Terms]:
    """Documents of Zipf-distributed terms with weights in 64ths, which every kind of field stores exactly."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (np.arange(N_TERMS) + 3)
    share /= share.sum()
    out = []
    for size in rng.integers(0, 25, n):
        ids = np.unique(rng.choice(N_TERMS, size, p=share)).astype(np.int32)
        out.append(Terms(ids, (rng.integers(1, 256, len(ids)) / 64).astype(np.float32)))
    return out


def csr(rows: list[Terms]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indptr = np.cumsum([0, *map(len, rows)])
    return indptr, np.concatenate([r.ids for r in rows]), np.concatenate([r.weights for r in rows])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[Terms]]:
    """A collection that was changed a good deal, and the documents that are left, in order."""
    path = tmp_path_factory.mktemp("sparse") / "c"
    docs = {f"d{i}": row for i, row in enumerate(vectors(1, 2_000))}
    fields = {"fixed": Sparse(N_TERMS, scale=64.0), "exact": Sparse(N_TERMS, tf="float32")}
    as_raw = [{"id": i, "terms": {"fixed": row, "exact": row}} for i, row in docs.items()]
    with zf.Collection.create(path, fields) as c:
        for start in range(0, 2_000, 500):
            c.add(as_raw[start : start + 500])
            c.commit()
        c.delete([f"d{i}" for i in range(0, 2_000, 7)])
        c.upsert(as_raw[33:1_500:31])
        c.commit()
        ids = list(c.ids())
        assert c.stats()["deleted"] > 0
        assert c.stats()["segments"] > 1
    return path, ids, [docs[i] for i in ids]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_same_ranking_and_scores(both: tuple[Path, list[str], list[Terms]], formula: Scoring) -> None:
    path, ids, rows = both
    # lengths on disk are whole multiples of 2**-20 where they are not sums of weights
    exact = formula.phi == "identity" or not isinstance(formula, zf.BM25)
    tolerance = 1e-9 if exact else 1e-6
    engine = zf.SparseIndex.from_csr(*csr(rows), N_TERMS, scoring=formula)
    rng = np.random.default_rng(3)
    with zf.Collection.open(path, scoring={"fixed": formula, "exact": formula}) as c:
        for _ in range(25):
            terms = np.unique(rng.choice(N_TERMS, rng.integers(1, 12))).astype(np.int32)
            weights = rng.uniform(0.1, 3.0, len(terms)).astype(np.float32)
            want, scores = engine.search(terms, weights, k=40)
            for field in ("fixed", "exact"):
                found = c.search(Terms(terms, weights), 40, fields=field)
                np.testing.assert_allclose([h.score for h in found], scores, rtol=tolerance)
                if exact:  # else near-ties may change places
                    assert [h.id for h in found] == [ids[i] for i in want]
            given = c.score("exact", Terms(terms, weights), ids[:200])
            np.testing.assert_allclose(given, engine.score(terms, np.arange(200), weights), rtol=tolerance)
