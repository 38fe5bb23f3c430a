"""Surrogate text by scalar quantisation: what the formula promises, and that its files cannot lie."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian import Collection
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput
from zipfian.fields import Sparse
from zipfian.retrieve.scoring import Dot
from zipfian.types import Encoded
from zipfian.vocabulary.scalar import ScalarVocabulary, random_rotation, streaming_mean

DIM = 48


def unit_rows(n: int, seed: int = 0, dim: int = DIM) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, dim)) + 0.3
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> ScalarVocabulary:
    return ScalarVocabulary.fit([unit_rows(300)], gamma=20.0, scale=500.0, seed=3)


def dense(vocabulary: ScalarVocabulary, rows: np.ndarray, query: bool = False) -> np.ndarray:
    out = np.zeros((len(rows), vocabulary.n_terms))
    for i, row in enumerate(rows):
        found = vocabulary.query_terms(row) if query else vocabulary.terms(row)
        out[i, found.ids] = found.weights
    return out


def test_rotation_is_orthogonal_and_follows_the_seed() -> None:
    rotation = random_rotation(64, 5)
    assert np.allclose(rotation @ rotation.T, np.eye(64), atol=1e-5)
    assert np.array_equal(rotation, random_rotation(64, 5))
    assert not np.allclose(rotation, random_rotation(64, 6))


def test_mean_does_not_depend_on_how_the_stream_is_cut() -> None:
    rows = unit_rows(100)
    whole = streaming_mean([rows])
    assert np.allclose(whole, rows.mean(axis=0), atol=1e-6)
    assert np.allclose(whole, streaming_mean(iter(rows)), atol=1e-7)
    assert np.allclose(whole, streaming_mean(iter([rows[:7], rows[7:50], rows[50:]])), atol=1e-7)


def test_formula(fitted: ScalarVocabulary) -> None:
    row = unit_rows(1, seed=9)[0]
    w = fitted.rotation @ (row - fitted.mean)
    both = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)])
    expected = np.where(both > 1 / 20.0, np.floor(both.astype(np.float64) * 500.0), 0.0)
    assert np.array_equal(dense(fitted, row[None])[0], expected)
    asked = fitted.rotation @ row  # a query is not centred
    both = np.concatenate([np.maximum(asked, 0), np.maximum(-asked, 0)])
    expected = np.where(both > 1 / 20.0, np.floor(both.astype(np.float64) * 500.0), 0.0)
    assert np.array_equal(dense(fitted, row[None], query=True)[0], expected)


def test_threshold_acts_on_real_values_and_is_strict() -> None:
    vocabulary = ScalarVocabulary(np.eye(4, dtype=np.float32), np.zeros(4, np.float32), gamma=4.0, scale=1000.0)
    found = vocabulary.terms(np.array([0.25, 0.2500001, -0.25, -0.3], np.float32))
    assert found.ids.tolist() == [1, 7]
    assert found.weights.tolist() == [250.0, 300.0]


def test_gamma_changes_postings_per_document(fitted: ScalarVocabulary) -> None:
    rows = unit_rows(50, seed=1)
    sizes = [np.mean([len(fitted.with_settings(gamma=g).terms(r)) for r in rows]) for g in (4.0, 8.0, 20.0, 1000.0)]
    assert sizes[0] < sizes[1] < sizes[2] < sizes[3]
    assert sizes[0] < DIM / 4
    assert sizes[3] > DIM * 0.9  # at most one of a component's two signs


def test_plain_keeps_the_positive_half(fitted: ScalarVocabulary) -> None:
    plain = fitted.with_settings(crelu=False)
    assert (plain.n_terms, fitted.n_terms) == (DIM, 2 * DIM)
    rows = unit_rows(20, seed=2)
    assert np.array_equal(dense(plain, rows), dense(fitted, rows)[:, :DIM])


def test_order_of_dot_products_is_kept() -> None:
    rows, queries = unit_rows(200, seed=3), unit_rows(20, seed=4)
    fine = ScalarVocabulary.fit([rows], gamma=1e6, scale=60_000.0)
    # [w, -w] rectified on both sides keeps the products of equal signs only, so compare what CReLU approximates
    exact = queries @ rows.T
    surrogate = dense(fine, queries, query=True) @ dense(fine, rows).T
    agreement = [
        np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]
        for a, b in zip(exact, surrogate, strict=True)
    ]
    assert min(agreement) > 0.7
    plain = fine.with_settings(crelu=False)
    without = dense(plain, queries, query=True) @ dense(plain, rows).T
    worse = [
        np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]
        for a, b in zip(exact, without, strict=True)
    ]
    assert np.mean(agreement) > np.mean(worse)


@given(st.integers(0, 2**32 - 1), st.floats(1.0, 200.0), st.floats(1.0, 5000.0), st.booleans())
def test_terms_are_whole_positive_and_ascending(seed: int, gamma: float, scale: float, crelu: bool) -> None:
    vocabulary = ScalarVocabulary.fit([unit_rows(5, dim=16)], gamma=gamma, scale=scale, crelu=crelu)
    found = vocabulary.terms(unit_rows(1, seed=seed, dim=16)[0])
    assert np.all(found.weights >= 1) and np.array_equal(found.weights, np.rint(found.weights))
    assert np.all(np.diff(found.ids) > 0) and np.all((found.ids >= 0) & (found.ids < vocabulary.n_terms))


def test_batch_and_encoded_agree_with_single_documents(fitted: ScalarVocabulary) -> None:
    rows = unit_rows(6, seed=8)
    batch = fitted.batch(rows)
    for i, row in enumerate(rows):
        nothing = np.zeros((1, 2), np.int32)
        encoded = Encoded(row[None], nothing, np.array([-1], np.int32), row, (1, 1))
        alone = fitted.terms(encoded)
        part = slice(batch.indptr[i], batch.indptr[i + 1])
        assert np.asarray(batch.terms)[batch.indices[part]].tolist() == alone.ids.tolist()
        assert batch.tf[part].tolist() == alone.weights.tolist()
    assert fitted.query(rows[0]) == dict(
        zip(fitted.query_terms(rows[0]).ids.tolist(), fitted.query_terms(rows[0]).weights.tolist(), strict=True)
    )


def test_saved_and_loaded(fitted: ScalarVocabulary, tmp_path: Path) -> None:
    fitted.save(tmp_path / "v")
    again = ScalarVocabulary.load(tmp_path / "v")
    assert again.fingerprint == fitted.fingerprint and again.to_json() == fitted.to_json()
    row = unit_rows(1, seed=10)[0]
    assert np.array_equal(again.terms(row).ids, fitted.terms(row).ids)
    assert fitted.with_settings(gamma=21.0).fingerprint != fitted.fingerprint


def test_changed_files_are_refused(fitted: ScalarVocabulary, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    ScalarVocabulary.fit([unit_rows(300)], seed=4).save(tmp_path / "other")
    (tmp_path / "other" / "scalar.safetensors").replace(tmp_path / "scalar.safetensors")
    with pytest.raises(FingerprintMismatch, match="one of them was changed"):
        ScalarVocabulary.load(tmp_path)
    settings = json.loads((tmp_path / "scalar.json").read_text())
    (tmp_path / "scalar.json").write_text(json.dumps({**settings, "format": 99}))
    with pytest.raises(FormatTooNew):
        ScalarVocabulary.load(tmp_path)
    with pytest.raises(InvalidInput, match=r"scalar\.json is missing"):
        ScalarVocabulary.load(tmp_path / "nowhere")


@pytest.mark.parametrize("bad", [np.zeros(3, np.float32), np.zeros(DIM, np.int32), np.full(DIM, np.nan, np.float32)])
def test_bad_vectors(fitted: ScalarVocabulary, bad: np.ndarray) -> None:
    with pytest.raises(InvalidInput):
        fitted.terms(bad)


@pytest.mark.parametrize("wrong", [{"gamma": 0}, {"gamma": float("inf")}, {"scale": -1.0}, {"scale": True}])
def test_bad_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        ScalarVocabulary.fit([unit_rows(5)], **wrong)


def test_as_a_field_of_a_collection(fitted: ScalarVocabulary, tmp_path: Path) -> None:
    """Term frequencies and integer query weights under `Dot`: the product of the integer vectors, exactly."""
    rows, queries = unit_rows(80, seed=20), unit_rows(5, seed=21)
    with Collection.create(tmp_path / "c.zf", {"scalar": Sparse(fitted.n_terms, tf="count", scoring=Dot())}) as c:
        c.add({"id": str(i), "terms": {"scalar": fitted.terms(row)}} for i, row in enumerate(rows))
        c.commit()
        expected = dense(fitted, queries, query=True) @ dense(fitted, rows).T
        for query, scores in zip(queries, expected, strict=True):
            found = c.search(fitted.query_terms(query), k=10)
            assert [hit.score for hit in found] == sorted(scores, reverse=True)[:10]
            assert all(scores[int(hit.id)] == hit.score for hit in found)
