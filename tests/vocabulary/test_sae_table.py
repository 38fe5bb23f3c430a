"""Queries without the encoder, presets, and what ships with the package."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vocabulary.sae_folders import add_table, change_settings, encoded, weights_of, write
from zipfian import limits
from zipfian.encode.text import TextEncoder
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.vocabulary._sae_weights import SaeWeights
from zipfian.vocabulary.models import SHIPPED, shipped
from zipfian.vocabulary.presets import PRESETS, FieldDefaults, preset
from zipfian.vocabulary.query_table import QueryTable
from zipfian.vocabulary.sae import SaeVocabulary

PIECES, WIDTH = 40, 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write(tmp_path_factory.mktemp("sae") / "tabled", weights_of())
    rng = np.random.default_rng(3)
    terms = rng.integers(0, 50, (PIECES, WIDTH)).astype(np.uint16)
    weights = rng.random((PIECES, WIDTH)).astype(np.float16)
    weights[5] = 0.0
    add_table(path, terms, weights)
    return path


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, PIECES - 1), max_size=30))
def test_rows_are_summed(folder: Path, pieces: list[int]) -> None:
    vocabulary = SaeVocabulary.load(folder)
    table = vocabulary.table
    assert table is not None
    expected = np.zeros(50)
    for piece in pieces:
        for term, weight in zip(table.terms[piece], table.weights[piece], strict=True):
            expected[term] += float(weight)
    got = vocabulary.table_terms(np.array(pieces, dtype=np.int32))
    assert got.ids.tolist() == np.flatnonzero(expected).tolist()
    assert got.weights.tolist() == expected[expected > 0].astype(np.float32).tolist()


def test_a_table_query_is_pruned_as_an_encoded_one(folder: Path) -> None:
    vocabulary = SaeVocabulary.load(folder, k_post=2)
    pieces = np.arange(6, dtype=np.int32)
    every = vocabulary.table_terms(pieces)
    heaviest = sorted(every.ids[np.argsort(-every.weights, kind="stable")[:2]].tolist())
    assert len(every) > 2
    assert vocabulary.table_query(pieces).ids.tolist() == heaviest


@pytest.mark.parametrize(("k_query", "expected"), [("k_post", 3), (None, 50), (7, 7)])
def test_queries_may_have_another_cap_than_items(tmp_path: Path, k_query: Any, expected: int) -> None:
    path = write(tmp_path / "v", weights_of(), defaults={"k": 50, "k_post": 3, "k_query": k_query})
    add_table(path, np.arange(50, dtype=np.uint16)[None], np.ones((1, 50), np.float16))
    vocabulary = SaeVocabulary.load(path)
    item = encoded(np.random.default_rng(0).standard_normal((40, 12)) * 5)
    assert len(vocabulary.terms(item)) == 3
    assert len(vocabulary.query(item)) == expected
    assert len(vocabulary.table_query(np.array([0]))) == expected
    other = SaeVocabulary.load(write(tmp_path / "w", weights_of(), defaults={"k": 50, "k_post": 3, "k_query": 9}))
    assert other.fingerprint.rpartition(":")[2] != vocabulary.fingerprint.rpartition(":")[2]


def test_binary_queries(folder: Path) -> None:
    vocabulary = SaeVocabulary.load(folder, preset="bm25-v")
    item = encoded(np.random.default_rng(0).standard_normal((9, 12)))
    for got, terms in (
        (vocabulary.query(item), vocabulary.terms(item)),
        (vocabulary.table_query(np.arange(4, dtype=np.int32)), vocabulary.table_terms(np.arange(4, dtype=np.int32))),
    ):
        assert got.ids.tolist() == terms.ids.tolist()
        assert set(got.weights.tolist()) == {1.0}
    assert len(vocabulary.terms(item)) <= 16
    plain = SaeVocabulary.load(folder, preset="latent-terms")
    assert plain.query(item).weights.tolist() == plain.terms(item).weights.tolist()
    assert plain.k_post is None


def test_a_query_has_at_most_as_many_terms_as_a_search_takes(tmp_path: Path) -> None:
    n = limits.MAX_QUERY_TERMS + 50
    weights = SaeWeights(
        np.zeros((n, 2), np.float32), np.arange(1, n + 1, dtype=np.float32), np.zeros(2, np.float32), 1.0, n
    )
    vocabulary = SaeVocabulary.load(write(tmp_path / "wide", weights, "float32"))
    item = encoded(np.zeros((1, 2)))
    assert len(vocabulary.terms(item)) == n
    assert vocabulary.query(item).ids.tolist() == list(range(50, n))


@pytest.mark.parametrize("pieces", [[-1], [0, PIECES], [2**31 - 1]])
def test_pieces_of_another_tokenizer(folder: Path, pieces: list[int]) -> None:
    with pytest.raises(InvalidInput, match="the table has 40 rows"):
        SaeVocabulary.load(folder).table_terms(np.array(pieces))


def test_pieces_that_are_no_numbers(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="whole numbers"):
        SaeVocabulary.load(folder).table_terms(np.array([0.5]))  # type: ignore[arg-type]
    assert len(SaeVocabulary.load(folder).table_terms(np.array([]))) == 0


def test_the_table_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    path = write(tmp_path / "v", weights_of())
    without = SaeVocabulary.load(path)
    assert without.table is None
    with pytest.raises(InvalidInput, match="no query table"):
        without.table_terms(np.array([1]))
    add_table(path, np.ones((4, 1), np.uint16), np.ones((4, 1), np.float16))
    one = SaeVocabulary.load(path)
    known = one.to_json()
    add_table(path, np.ones((4, 1), np.uint16), np.full((4, 1), 2.0, np.float16))
    assert len({without.fingerprint, one.fingerprint, SaeVocabulary.load(path).fingerprint}) == 3
    assert without.compact_form == one.compact_form
    with pytest.raises(FingerprintMismatch, match="its table"):
        SaeVocabulary.from_json(known)


def test_a_damaged_table(folder: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "v", weights_of())
    add_table(path, np.ones((4, 1), np.uint16), np.ones((4, 1), np.float16))
    (path / "table.safetensors").write_bytes(b"x" + (path / "table.safetensors").read_bytes()[1:])
    with pytest.raises(InvalidInput, match="sha256"):
        SaeVocabulary.load(path).table_terms(np.array([1]))
    change_settings(path, table={"sha256": hashlib.sha256((path / "table.safetensors").read_bytes()).hexdigest()})
    with pytest.raises(InvalidInput, match="safetensors"):
        SaeVocabulary.load(path).table_terms(np.array([1]))


@pytest.mark.parametrize(
    ("terms", "weights"),
    [
        (np.zeros((3, 2), np.uint16), np.zeros((3, 1), np.float16)),
        (np.zeros((0, 2), np.uint16), np.zeros((0, 2), np.float16)),
        (np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float16)),
        (np.full((3, 2), 50, np.uint16), np.zeros((3, 2), np.float16)),
        (np.full((3, 2), -1, np.int32), np.zeros((3, 2), np.float16)),
        (np.zeros((3, 2), np.uint16), np.full((3, 2), np.nan, np.float16)),
        (np.zeros((3, 2), np.uint16), np.full((3, 2), -1.0, np.float16)),
    ],
)
def test_bad_tables(terms: Any, weights: Any) -> None:
    with pytest.raises(InvalidInput):
        QueryTable(terms, weights, 50)


# ---------------------------------------------------------------------------- presets


def test_presets_are_those_of_the_papers() -> None:
    assert set(PRESETS) == {"bm25-v", "latent-terms", "photos"}
    visual, text = preset("bm25-v"), preset("latent-terms")
    assert (visual.k, visual.k_post, visual.query, visual.scale) == (16, 16, "binary", 100.0)
    assert visual.bm25 == {"k1": 1.5, "b": 0.75, "phi": "identity"}
    assert (text.k, text.k_post, text.query) == (16, None, "weighted")
    assert text.bm25 == {"k1": 8.0, "b": 0.7, "phi": "sqrt"}


def test_a_preset_replaces_the_vocabulary_s_own_use_and_arguments_replace_both(tmp_path: Path) -> None:
    path = write(tmp_path / "v", weights_of(), defaults={"k": 2, "k1": 4.0, "phi": "power:0.65"})
    own, other = SaeVocabulary.load(path), SaeVocabulary.load(path, preset="latent-terms", k=3)
    assert (own.k, own.defaults.bm25) == (2, {"k1": 4.0, "b": 0.7, "phi": "power:0.65"})
    assert (other.k, other.defaults.bm25) == (3, PRESETS["latent-terms"].bm25)
    assert own.trained_k == 4
    assert SaeVocabulary.from_json(other.to_json()).fingerprint == other.fingerprint


def test_unknown_settings_of_use() -> None:
    with pytest.raises(InvalidInput, match="unknown settings of use: nonsense"):
        FieldDefaults().changed({"nonsense": 1})
    with pytest.raises(InvalidInput, match="no preset is called"):
        preset("bm26")


# ---------------------------------------------------------------------------- what ships


def test_shipped_files_are_small_and_whole() -> None:
    assert "text-16k" in shipped()
    for name in shipped():
        for path in (SHIPPED / name).iterdir():
            assert path.stat().st_size < 16_000_000, path
        vocabulary = SaeVocabulary.load(name)
        assert vocabulary.name == name
        assert (SHIPPED / name / "README.md").is_file()
        assert vocabulary.encoder_fingerprint is not None
        assert len(vocabulary.neighbours(0)) > 0


def test_the_shipped_text_vocabulary_fits_the_default_encoder() -> None:
    vocabulary = SaeVocabulary.load("text-16k")
    assert (vocabulary.n_terms, vocabulary.k, vocabulary.k_post, vocabulary.pooling) == (16_384, 3, 250, "sum")
    assert vocabulary.defaults.bm25 == {"k1": 4.0, "b": 0.7, "phi": "power:0.65"}
    for encoder in (TextEncoder(), TextEncoder(long_texts="cut"), TextEncoder(max_tokens=256)):
        vocabulary.check_encoder(encoder)
    assert vocabulary.encoder_fingerprint == TextEncoder().fingerprint
    with pytest.raises(FingerprintMismatch):
        vocabulary.check_encoder(TextEncoder(layers=(-2,)))
    table = vocabulary.table
    assert table is not None
    assert len(table) == 30_522
    assert {"term_df", "term_count"} <= set(vocabulary.statistics)
    assert (vocabulary.statistics["term_df"] <= vocabulary.statistics["term_count"]).all()
    assert vocabulary.label(0) != "latent 0"
    assert json.loads(json.dumps(vocabulary.to_json()))["model"] == "text-16k"
