"""Short items take more terms of each token, until they have enough: documents only, and told apart by fingerprint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vocabulary.sae_folders import encoded, weights_of, write
from zipfian.errors import InvalidInput
from zipfian.types import Encoded, Terms
from zipfian.vocabulary.sae import SaeVocabulary

TRAINED = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    defaults = {"k": 2, "k_least": 20, "k_post": 30, "k_query": None}
    weights = weights_of(200, k=TRAINED, name="short")
    return write(tmp_path_factory.mktemp("sae") / "short", weights, "int8", defaults=defaults)


def item(n: int, seed: int = 1) -> Encoded:
    return encoded(np.random.default_rng(seed).standard_normal((n, 12)) * 2)


def same(one: Terms, other: Terms) -> bool:
    return one.ids.tobytes() == other.ids.tobytes() and one.weights.tobytes() == other.weights.tobytes()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 30), st.integers(0, 10**6), st.integers(1, 60))
def test_the_fewest_terms_of_a_token_that_make_enough(folder: Path, n: int, seed: int, least: int) -> None:
    filled = SaeVocabulary.load(folder, k=2, k_least=least, k_post=None)
    by_k = [SaeVocabulary.load(folder, k=k, k_post=None).terms(item(n, seed)) for k in range(2, TRAINED + 1)]
    expected = next((terms for terms in by_k if len(terms) >= least), by_k[-1])
    assert same(filled.terms(item(n, seed)), expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_kept_arrays_and_evidence_follow(folder: Path, n: int, seed: int) -> None:
    vocabulary, one = SaeVocabulary.load(folder), item(n, seed)
    terms = vocabulary.terms(one)
    assert same(vocabulary.from_compact(vocabulary.compact(one)), terms)
    fired = vocabulary.evidence(one)
    assert sorted(fired) == terms.ids.tolist()
    for term, weight in zip(terms.ids.tolist(), terms.weights.tolist(), strict=True):
        assert float(np.float32(sum(value for _, value in sorted(fired[term])))) == weight


def test_queries_stay_as_they_were(folder: Path) -> None:
    filled, plain, one = SaeVocabulary.load(folder), SaeVocabulary.load(folder, k=2), item(3)
    assert len(filled.terms(one)) > len(plain.terms(one))
    assert same(filled.query(one), plain.query(one))
    assert same(filled.query_compact(filled.compact(one)), plain.query(one))
    asked = filled.evidence(one, filled.query(one).ids.tolist(), asked=True)
    assert asked == plain.evidence(one, plain.query(one).ids.tolist())


def test_a_k_of_ones_own_holds_for_short_items_too(folder: Path) -> None:
    assert SaeVocabulary.load(folder).k_least == 20
    assert SaeVocabulary.load(folder, k=2).k_least is None
    assert SaeVocabulary.load(folder, k_least=None).k_least is None
    assert SaeVocabulary.load(folder, k=2, k_least=20).fingerprint == SaeVocabulary.load(folder).fingerprint
    assert SaeVocabulary.load(folder, preset="latent-terms").k_least is None


def test_what_was_stored_stays_what_it_was(folder: Path) -> None:
    now, before = SaeVocabulary.load(folder), SaeVocabulary.load(folder, k_least=None)
    assert now.fingerprint != before.fingerprint
    assert SaeVocabulary.from_json(now.to_json()).fingerprint == now.fingerprint
    old = {name: value for name, value in before.to_json().items() if name != "k_least"}
    assert SaeVocabulary.from_json(old).fingerprint == before.fingerprint, "of an older version: no such setting"


def test_more_than_the_training_is_never_taken(folder: Path) -> None:
    wide = SaeVocabulary.load(folder, k=12, k_least=10_000, k_post=None)
    assert same(wide.terms(item(2)), SaeVocabulary.load(folder, k=12, k_post=None).terms(item(2)))
    assert len(SaeVocabulary.load(folder, k_least=10_000).terms(item(1))) <= TRAINED


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "150"])
def test_bad_numbers(folder: Path, bad: object) -> None:
    with pytest.raises(InvalidInput, match="k_least must be a whole number above 0"):
        SaeVocabulary.load(folder, k_least=bad)  # type: ignore[arg-type]
