from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.hybridvl.matrix import Scores, blend, score_matrix
from experiments.hybridvl.refine import Pool, refine
from zipfian.errors import InvalidInput
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import load_beir


def scores(values: list[list[float]]) -> Scores:
    array = np.array(values)
    return Scores(
        tuple(f"q{i}" for i in range(len(array))), tuple(f"d{i}" for i in range(array.shape[1])), array
    )  # fmt: skip


def test_a_matrix_agrees_with_searching(beir: Path) -> None:
    data = load_beir(beir)
    with built(data, ["words"]) as collection:
        matrix = score_matrix(collection, "words", data)
        for query, ranking in matrix.run().items():
            hits = [(hit.id, hit.score) for hit in collection.search(data.queries[query].text, k=5)]
            assert ranking[: len(hits)] == hits


def test_rankings_keep_document_order_on_ties() -> None:
    assert scores([[0.5, 0.9, 0.5]]).run(2) == {"q0": [("d1", 0.9), ("d0", 0.5)]}


def test_blending() -> None:
    a, b = scores([[1.0, 0.0]]), scores([[0.0, 1.0]])
    assert blend([(0.8, a), (0.2, b)]).values.tolist() == [[0.8, 0.2]]
    with pytest.raises(InvalidInput, match="nothing to add"):
        blend([])
    with pytest.raises(InvalidInput, match="other queries or documents"):
        blend([(1.0, a), (1.0, scores([[1.0, 2.0, 3.0]]))])
    with pytest.raises(InvalidInput, match="scores for"):
        Scores(("q",), ("d",), np.zeros((2, 2)))


def test_refining_by_hand() -> None:
    """One query, three documents; text agreement alone lifts the last of the pool to the top."""
    fused = scores([[0.9, 0.8, 0.7, 0.1]])
    cross = scores([[0.5, 0.5, 0.4, 0.9]])
    text = scores([[0.1, 0.2, 1.0, 1.0]])
    pool = Pool(fused, cross, text, np.eye(4, dtype=np.float32))
    only = [doc for doc, _ in refine(pool, size=3, variant="cross").run["q0"]]
    assert only == ["d0", "d1", "d2", "d3"]  # ties of cross by the coarse score; d3 is beyond K and stays below
    both = [doc for doc, _ in refine(pool, size=3, variant="cross+text").run["q0"]]
    assert both == ["d2", "d0", "d1", "d3"]
    weights = np.exp(np.array([0.5, 0.1]) / 0.07)
    wanted = float((weights / weights.sum()) @ np.array([0.5, 0.1]))
    assert dict(refine(pool, size=3, variant="cross+text").run["q0"])["d0"] == pytest.approx(wanted)
    assert refine(pool, size=3).ms > 0.0
    with pytest.raises(InvalidInput, match="K must be at least 1"):
        refine(pool, size=0)
