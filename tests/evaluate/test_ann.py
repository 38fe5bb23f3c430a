from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.evaluate.ann import AnnSearch
from zipfian.evaluate.cost import cost_of
from zipfian.evaluate.methods import METHODS, Method, search
from zipfian.evaluate.surrogate import ScalarSearch
from zipfian.fields import Dense
from zipfian.fields.query import Query
from zipfian.vocabulary.scalar import ScalarVocabulary

pytest.importorskip("faiss")

N, DIM = 400, 24


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((N, DIM)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, vectors: np.ndarray) -> Iterator[Collection]:
    path: Path = tmp_path_factory.mktemp("ann") / "c.zf"
    with Collection.create(path, {"dense": Dense(vector="default")}) as made:
        made.add({"id": f"d{i}", "vector": row} for i, row in enumerate(vectors))
        made.commit()
        yield made


def exact(vectors: np.ndarray, i: int, k: int) -> list[str]:
    return [f"d{j}" for j in np.argsort(-(vectors @ vectors[i]), kind="stable")[:k]]


@pytest.mark.parametrize("name", ["hnsw", "ivfpq", "ivfpq-refined", "scalar"])
def test_a_document_finds_itself(collection: Collection, vectors: np.ndarray, name: str) -> None:
    found = [next(iter(search(collection, METHODS[name], Query(vectors[i]), 10))).id for i in range(40)]
    right = sum(found[i] == f"d{i}" for i in range(40))
    assert right >= (30 if name == "ivfpq" else 38)


def test_hnsw_agrees_with_the_exact_scan(collection: Collection, vectors: np.ndarray) -> None:
    for i in range(10):
        found = [hit.id for hit in search(collection, METHODS["hnsw"], Query(vectors[i]), 10)]
        assert len(set(found) & set(exact(vectors, i, 10))) >= 9


def test_scalar_scores_are_dot_products_of_the_terms(collection: Collection, vectors: np.ndarray) -> None:
    """Only parts of equal sign meet, so the order is near the cosine's and not equal to it; the scores are exact."""
    vocabulary = ScalarVocabulary.fit([vectors], source="dense")
    rows = np.zeros((N, vocabulary.n_terms))
    for row, terms in zip(rows, vocabulary.terms_many(vectors), strict=True):
        row[terms.ids] = terms.weights
    overlap = 0
    for i in range(20):
        asked = vocabulary.query_terms(vectors[i])
        wanted = rows[:, asked.ids] @ asked.weights.astype(np.float64)
        hits = list(search(collection, METHODS["scalar"], Query(vectors[i]), 10))
        assert [hit.score for hit in hits] == pytest.approx(np.sort(wanted)[::-1][:10].tolist())
        overlap += len({hit.id for hit in hits} & set(exact(vectors, i, 10)))
    assert overlap > 100  # by chance it would be 5


def test_what_they_touch_and_hold(collection: Collection, vectors: np.ndarray) -> None:
    question = Query(vectors[0])

    def share(name: str) -> list[float]:
        hits = search(collection, METHODS[name], question, 10)
        return [part.share for part in cost_of(collection, METHODS[name], "image", question, hits)]

    assert share("hnsw") == []  # FAISS does not tell
    assert 0.0 < share("ivfpq")[0] < 0.9
    assert 0.5 < share("scalar")[0] <= 1.0
    assert AnnSearch("bm25v-hnsw").nbytes(collection) > 4 * N * DIM
    assert 0 < ScalarSearch().nbytes(collection) < 6 * 2 * DIM * N


def test_an_index_is_built_once(collection: Collection) -> None:
    first = AnnSearch("bm25v-hnsw").index(collection)[0]
    assert AnnSearch("bm25v-hnsw", refine=True).index(collection)[0] is first
    with pytest.raises(InvalidInput, match="unknown FAISS index 'tree'"):
        search(collection, Method("x", "", {"image": ("dense",)}, run=AnnSearch("tree")), Query(np.ones(DIM)), 3)
