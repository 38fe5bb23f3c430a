"""Vectors: rows as given, presence, and merging."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index import vectors as vectors_module
from zipfian.index.vectors import VectorReader, merge_vectors, write_vectors
from zipfian.limits import MAX_VECTOR_DIM
from zipfian.storage.container import SectionFile, SectionWriter


def random_matrix(seed: int, n: int, dim: int, missing: tuple[int, ...] = ()) -> npt.NDArray[np.float32]:
    matrix = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    matrix[list(missing)] = np.nan
    return matrix


def stored(n: int, **vectors: npt.NDArray[np.float32]) -> VectorReader:
    directory = MemoryDirectory()
    return VectorReader.open(directory, write_vectors(directory, "a.vec", n, vectors))


def test_rows_come_back_as_they_were() -> None:
    dense, sparse = random_matrix(1, 9, 4), random_matrix(2, 9, 3, missing=(0, 8))
    before = sparse.copy()
    reader = stored(9, dense=dense, some=sparse)
    assert np.array_equal(sparse, before, equal_nan=True)
    assert reader.dims == {"dense": 4, "some": 3}
    assert np.array_equal(reader.array("dense"), dense) and reader.present("dense").all()
    assert reader.present("some").tolist() == [False, *[True] * 7, False]
    assert np.array_equal(reader.array("some")[1:8], sparse[1:8]) and not reader.array("some")[0].any()
    assert np.array_equal(reader.rows("dense", np.array([7, 0, 7])), dense[[7, 0, 7]])
    assert reader.rows("dense", np.array([], np.int64)).shape == (0, 4)


def test_no_documents() -> None:
    assert stored(0, v=np.empty((0, 5), np.float32)).array("v").shape == (0, 5)


def test_mistakes() -> None:
    bad = random_matrix(1, 3, 4)
    bad[1, 2] = np.nan
    for wrong in (bad, np.full((3, 2), np.inf), np.zeros((2, 4)), np.zeros(3)):
        with pytest.raises(InvalidInput):
            stored(3, v=wrong)
    with pytest.raises(LimitExceeded):
        stored(1, v=np.zeros((1, MAX_VECTOR_DIM + 1)))
    with pytest.raises(LimitExceeded):
        stored(1, v=np.zeros((1, 0)))
    with pytest.raises(InvalidInput, match="there are: 'v'"):
        stored(1, v=np.zeros((1, 2))).array("w")


def test_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "_ROWS_BYTES", 64)
    a, b = random_matrix(1, 30, 4), random_matrix(2, 20, 4, missing=(3,))
    other = random_matrix(3, 20, 2)
    keep_a, keep_b, keep_c = (np.random.default_rng(9).random(n) < 0.6 for n in (30, 20, 5))
    directory = MemoryDirectory()
    parts = [(stored(30, v=a), keep_a), (stored(20, v=b, w=other), keep_b), (None, keep_c)]
    merged = VectorReader.open(directory, merge_vectors(directory, "m.vec", dict.fromkeys("vw", parts)))
    last = np.zeros((int(keep_c.sum()), 4), np.float32)
    assert np.array_equal(merged.array("v"), np.concatenate([a[keep_a], np.nan_to_num(b[keep_b]), last]))
    there = np.concatenate([np.ones(30, bool)[keep_a], (np.arange(20) != 3)[keep_b], np.zeros(5, bool)[keep_c]])
    assert merged.present("v").tolist() == there.tolist()
    assert merged.present("w").sum() == keep_b.sum()
    assert merge_vectors(directory, "none.vec", {"v": [(None, keep_a)]}) is None
    with pytest.raises(InvalidInput, match="dimensions"):
        wrong = [(stored(30, v=a), keep_a), (stored(5, v=random_matrix(1, 5, 3)), keep_c)]
        merge_vectors(directory, "x.vec", {"v": wrong})


@pytest.mark.parametrize(
    "meta", [{"n_docs": 4}, {"vectors": 3}, {"vectors": [{"name": "v", "dim": 0, "some": False}]}, {"vectors": [{}]}]
)
def test_forged_meta_data_is_an_error(meta: dict[str, Any] | None) -> None:
    directory = MemoryDirectory()
    good = SectionFile.open(directory, write_vectors(directory, "a.vec", 3, {"v": random_matrix(1, 3, 2)}), "vec")
    with SectionWriter(directory, "b.vec", "vec", {**good.meta, **meta}) as file:
        file.add("0.values", good.array("0.values"))
        file.close()
    with pytest.raises(IndexCorrupt):
        VectorReader.open(directory, "b.vec")
