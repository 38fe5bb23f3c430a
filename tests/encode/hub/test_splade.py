"""SPLADE: the encoder against a plain forward pass, and the vocabulary over it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.test_text import plain
from tests.encode.hub.tiny import TEXT, TEXTS, needs_hub
from zipfian.encode import Encoder, hub
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.vocabulary.splade import SpladeVocabulary

pytestmark = needs_hub


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("hub") / "tiny-splade"
    return folder, tiny.masked_bert(folder)


def expected(model: Any, folder: Path, text: str) -> np.ndarray:
    import torch

    logits = plain(model, folder, text)[1].logits
    return torch.log1p(torch.relu(logits)).amax(dim=1)[0].numpy()


def test_weights_are_the_formula(made: tuple[Path, Any]) -> None:
    folder, model = made
    encoder = hub.load(folder, kind="splade")
    assert isinstance(encoder, hub.SpladeEncoder) and isinstance(encoder, Encoder)
    vocabulary = SpladeVocabulary.of(encoder)
    for text, encoded in zip(TEXTS, encoder.encode_documents(TEXTS), strict=True):
        weights = expected(model, folder, text)
        dense = np.zeros(encoder.n_terms, np.float32)
        dense[encoded.pieces] = encoded.vectors[:, 0]
        np.testing.assert_allclose(dense, weights, atol=1e-5)
        terms = vocabulary.terms(encoded)
        clear = np.abs(weights - 0.15) > 1e-4
        assert set(np.flatnonzero((weights >= 0.15) & clear)) <= set(terms.ids) <= set(np.flatnonzero(weights > 0.1499))
        assert (np.diff(terms.ids) > 0).all() and (terms.weights >= np.float32(0.15)).all()
        assert 0 < len(terms) < len(encoded.pieces)
        assert vocabulary.query(encoded) == dict(zip(terms.ids.tolist(), terms.weights.tolist(), strict=True))


def test_places_are_of_the_strongest_token(made: tuple[Path, Any]) -> None:
    folder, model = made
    encoder = hub.SpladeEncoder(folder)
    (encoded,) = encoder.encode_documents([TEXT])
    _, found = plain(model, folder, TEXT)
    from transformers import AutoTokenizer

    offsets = AutoTokenizer.from_pretrained(folder)(TEXT, return_offsets_mapping=True)["offset_mapping"]
    offsets = [(0, 0), *offsets[1:-1], (len(TEXT), len(TEXT))]
    best = found.logits[0].argmax(dim=0).tolist()
    assert [tuple(place) for place in encoded.places.tolist()] == [offsets[best[term]] for term in encoded.pieces]
    evidence = SpladeVocabulary.of(encoder).evidence(encoded, {int(encoded.pieces[encoded.vectors[:, 0].argmax()])})
    ((term, [(row, strength)]),) = evidence.items()
    assert encoded.pieces[row] == term and strength == encoded.vectors[:, 0].max()


def test_windows_take_the_largest_weight(made: tuple[Path, Any]) -> None:
    folder, _ = made
    text = " ".join(TEXTS[6].split() * 6)
    encoder = hub.SpladeEncoder(folder, max_tokens=32, overlap=0)
    (whole,) = encoder.encode_documents([text])
    words, dense = text.split(), np.zeros(encoder.n_terms, np.float32)
    from zipfian.encode.windows import windows

    for window in windows(len(words), 30, 0):
        (part,) = encoder.encode_documents([" ".join(words[window.start : window.stop])])
        dense[part.pieces] = np.maximum(dense[part.pieces], part.vectors[:, 0])
    found = np.zeros_like(dense)
    found[whole.pieces] = whole.vectors[:, 0]
    np.testing.assert_allclose(found, dense, atol=1e-5)


def test_a_batch_for_the_index(made: tuple[Path, Any]) -> None:
    encoder = hub.SpladeEncoder(made[0])
    vocabulary = SpladeVocabulary.of(encoder)
    encoded = encoder.encode_documents(TEXTS)
    batch = vocabulary.batch(encoded)
    assert len(batch.indptr) == len(TEXTS) + 1
    for i, item in enumerate(encoded):
        terms = vocabulary.terms(item)
        part = slice(batch.indptr[i], batch.indptr[i + 1])
        assert np.asarray(batch.terms)[batch.indices[part]].tolist() == terms.ids.tolist()
        assert batch.tf[part].tolist() == np.rint(terms.weights.astype(np.float64) * 100).tolist()
    empty = vocabulary.batch([])
    assert empty.indptr.tolist() == [0] and len(empty.indices) == 0
    compact = vocabulary.from_compact(vocabulary.compact(encoded[0]))
    assert compact.ids.tolist() == vocabulary.terms(encoded[0]).ids.tolist()
    assert np.array_equal(compact.weights, vocabulary.terms(encoded[0]).weights)


def test_scores_are_the_product_of_the_weights(made: tuple[Path, Any]) -> None:
    from zipfian.retrieve.scoring import Dot
    from zipfian.retrieve.sparse_index import SparseIndex

    encoder = hub.SpladeEncoder(made[0])
    vocabulary = SpladeVocabulary.of(encoder)
    documents = [vocabulary.terms(e) for e in encoder.encode_documents(TEXTS)]
    indptr = np.cumsum([0, *map(len, documents)])
    index = SparseIndex.from_csr(
        indptr,
        np.concatenate([t.ids for t in documents]),
        np.concatenate([t.weights for t in documents]),
        encoder.n_terms,
        scoring=Dot(),
    )
    (encoded,) = encoder.encode_queries(["copper mill"])
    query = vocabulary.query(encoded)
    found, scores = index.search(list(query), weights=list(query.values()), k=len(TEXTS))
    products = [
        sum(query.get(t, 0.0) * w for t, w in zip(d.ids.tolist(), d.weights.tolist(), strict=True)) for d in documents
    ]
    np.testing.assert_allclose(scores, [products[i] for i in found], rtol=1e-5)
    assert list(scores) == sorted(scores, reverse=True) and len(found) == sum(p > 0 for p in products)


def test_identity_and_labels(made: tuple[Path, Any]) -> None:
    encoder = hub.SpladeEncoder(made[0])
    vocabulary = SpladeVocabulary.of(encoder)
    assert vocabulary.label(5) == tiny.WORDS[0] and vocabulary.label(3) == "[SEP]"
    again = SpladeVocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again.fingerprint == vocabulary.fingerprint and again.label(5) == "#5"
    assert SpladeVocabulary.of(encoder, min_weight=0.2).fingerprint != vocabulary.fingerprint
    again.check_encoder(encoder)
    with pytest.raises(FingerprintMismatch, match="same model files"):
        again.check_encoder(hub.SpladeEncoder(made[0], max_tokens=40))
    assert hub.load(**json.loads(json.dumps(encoder.hub_settings))).fingerprint == encoder.fingerprint


def test_what_is_refused(made: tuple[Path, Any], tmp_path: Path) -> None:
    plain_bert = tmp_path / "bert"
    tiny.bert(plain_bert)
    with pytest.raises(InvalidInput, match="no masked language model"):
        hub.SpladeEncoder(plain_bert)
    vocabulary = SpladeVocabulary.of(hub.SpladeEncoder(made[0]))
    (dense,) = hub.load(made[0]).encode_documents([TEXT])
    with pytest.raises(InvalidInput, match="no SPLADE weights"):
        vocabulary.terms(dense)
    with pytest.raises(InvalidInput, match="does not exist"):
        vocabulary.label(10**6)
    for values in ({}, {"kind": "splade", "version": 1, "n_terms": 3}, {**vocabulary.to_json(), "min_weight": -1.0}):
        with pytest.raises(InvalidInput):
            SpladeVocabulary.from_json(values)
