"""Scoring formulas against numbers worked out by hand, and their settings."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from zipfian import BM25, Dot, SparseIndex, TfIdf
from zipfian.errors import InvalidInput
from zipfian.index.phi import parse_phi, phi_name
from zipfian.retrieve.scoring import scoring_from_json

# Four documents over three terms; lengths 4, 3, 2, 3, mean 3; df 3, 2, 1.
ROWS = [{0: 3.0, 1: 1.0}, {0: 1.0, 2: 2.0}, {1: 2.0}, {0: 3.0}]


def index(scoring: Any) -> SparseIndex:
    indptr = np.cumsum([0, *(len(row) for row in ROWS)])
    indices = [t for row in ROWS for t in row]
    weights = [w for row in ROWS for w in row.values()]
    return SparseIndex.from_csr(indptr, indices, weights, 3, scoring=scoring)


def k_of(length: float, k1: float, b: float) -> float:
    return k1 * (1 - b + b * length / 3.0)


def test_default_bm25() -> None:
    """Query {0, 1} on document 0: tf 3 and 1, length 4."""
    k = k_of(4, 1.5, 0.75)
    assert k == pytest.approx(1.875)
    idf0, idf1 = math.log(1 + 1.5 / 3.5), math.log(1 + 2.5 / 2.5)
    expected = idf0 * 2.5 * 3 / (3 + k) + idf1 * 2.5 * 1 / (1 + k)
    assert index(BM25()).score([0, 1], [0])[0] == pytest.approx(expected, rel=1e-15)
    assert expected == pytest.approx(0.356675 * 1.538462 + 0.693147 * 0.869565, rel=1e-5)


@pytest.mark.parametrize(
    ("variant", "idf", "tf_part"),
    [
        ("zipfian", lambda n, df: math.log(1 + (n - df + 0.5) / (df + 0.5)), lambda tf, k: 2.2 * tf / (tf + k)),
        ("lucene", lambda n, df: math.log(1 + (n - df + 0.5) / (df + 0.5)), lambda tf, k: tf / (tf + k)),
        ("robertson", lambda n, df: max(0, math.log((n - df + 0.5) / (df + 0.5))), lambda tf, k: 2.2 * tf / (tf + k)),
        ("atire", lambda n, df: math.log(n / df), lambda tf, k: 2.2 * tf / (tf + k)),
        ("bm25+", lambda n, df: math.log((n + 1) / df), lambda tf, k: 2.2 * tf / (tf + k) + 1.0),
        (
            "bm25l",
            lambda n, df: math.log((n + 1) / (df + 0.5)),
            lambda tf, k: 2.2 * (tf / (k / 1.2) + 0.5) / (1.2 + tf / (k / 1.2) + 0.5),
        ),
    ],
)
def test_variants(variant: Any, idf: Any, tf_part: Any) -> None:
    found = index(BM25(k1=1.2, b=0.5, variant=variant))
    df = [3, 2, 1]
    for doc, row in enumerate(ROWS):
        k = k_of(sum(row.values()), 1.2, 0.5)
        for terms in ([0], [1], [2], [0, 1, 2]):
            expected = sum(idf(4, df[t]) * tf_part(row[t], k) for t in terms if t in row)
            assert found.score(terms, [doc])[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("delta", [0.0, 0.2, 3.0])
def test_delta_is_the_users(delta: float) -> None:
    """Lv & Zhai 2011: bm25+ adds delta to every term's part, bm25l to the length-normalised frequency."""
    k1, b = 1.2, 0.5
    plus, less = (index(BM25(k1=k1, b=b, variant=v, delta=delta)) for v in ("bm25+", "bm25l"))  # type: ignore[arg-type]
    for doc, row in enumerate(ROWS):
        tf, norm = row.get(0, 0.0), 1 - b + b * sum(row.values()) / 3.0
        saturated = (k1 + 1) * tf / (tf + k1 * norm) + delta
        c = tf / norm + delta
        lifted = (k1 + 1) * c / (k1 + c)
        expected = [math.log(5 / 3) * saturated, math.log(5 / 3.5) * lifted] if tf else [0.0, 0.0]
        assert [plus.score([0], [doc])[0], less.score([0], [doc])[0]] == pytest.approx(expected, rel=1e-14)


def test_k1_of_zero_counts_presence_only() -> None:
    idf = math.log(1 + 1.5 / 3.5)
    assert index(BM25(k1=0.0)).score([0], [0, 1, 2, 3]) == pytest.approx([idf, idf, 0, idf], rel=1e-15)


def test_query_weights_multiply() -> None:
    found = index(BM25())
    parts = [found.score([t], [0])[0] for t in (0, 1)]
    assert found.score([0, 1], [0], [0.25, 3.0])[0] == pytest.approx(0.25 * parts[0] + 3.0 * parts[1], rel=1e-15)


def test_phi_applies_to_documents_lengths_and_queries() -> None:
    found = index(BM25(k1=1.5, b=0.75, variant="lucene", phi="sqrt"))
    lengths = [sum(math.sqrt(w) for w in row.values()) for row in ROWS]
    k = 1.5 * (0.25 + 0.75 * lengths[0] / (sum(lengths) / 4))
    x = math.sqrt(3.0)
    expected = math.sqrt(5.0) * math.log(1 + 1.5 / 3.5) * x / (x + k)
    assert found.score([0], [0], [5.0])[0] == pytest.approx(expected, rel=1e-14)


def test_dot() -> None:
    assert index(Dot()).score([0, 1], [0, 1, 2, 3], [2.0, 10.0]).tolist() == [16.0, 2.0, 20.0, 6.0]
    assert index(Dot(phi=0.5)).score([0], [0], [4.0])[0] == pytest.approx(2 * math.sqrt(3), rel=1e-15)


def test_tfidf_is_a_cosine() -> None:
    """idf ln(4 / (1 + df)): 0 for term 0 (df 3), so documents 0 and 2 both point along term 1 alone."""
    found = index(TfIdf())
    idf1, idf2 = math.log(4 / 3), math.log(4 / 2)
    assert found.score([1], [0, 1, 2, 3]) == pytest.approx([1.0, 0.0, 1.0, 0.0], rel=1e-14)
    a, b = idf1, idf2
    assert found.score([1, 2], [2, 1]) == pytest.approx([a / math.hypot(a, b), b / math.hypot(a, b)], rel=1e-14)
    assert found.search([0])[0].tolist() == []


def test_tfidf_weights_under_one_over_e_count_nothing() -> None:
    found = SparseIndex.from_csr([0, 2, 3, 4, 5], [0, 1, 1, 2, 3], [0.3, 1.0, 0.5, 1.0, 1.0], 4, scoring=TfIdf())
    assert found.search([0])[0].tolist() == []
    assert found.search([1], [0.2])[0].tolist() == []
    assert found.search([0, 1])[1] == pytest.approx([1 / math.hypot(1, math.log(2) / math.log(4 / 3))] * 2)


def test_idf_is_never_negative_and_finite() -> None:
    df = np.array([0.0, 1.0, 50.0, 99.0, 100.0])
    for variant in ("zipfian", "lucene", "robertson", "atire", "bm25l", "bm25+"):
        idf = BM25(variant=variant).idf(df, 100)  # type: ignore[arg-type]
        assert np.all(np.isfinite(idf)) and np.all(idf >= 0.0), variant
        assert np.all(np.diff(idf) <= 0.0), variant


@pytest.mark.parametrize(
    ("given", "value"), [("identity", 1.0), ("sqrt", 0.5), ("power:0.7", 0.7), (0.3, 0.3), (1, 1.0)]
)
def test_phi(given: Any, value: float) -> None:
    assert parse_phi(given) == value
    assert parse_phi(phi_name(given)) == value


def test_phi_names_keep_every_digit() -> None:
    assert parse_phi(phi_name(0.123456789012345)) == 0.123456789012345
    assert phi_name("power:0.5") == "sqrt"
    assert phi_name(1.0) == "identity"


@pytest.mark.parametrize(
    "scoring", [BM25(), BM25(k1=8, b=0.7, phi="sqrt"), BM25(variant="bm25+", delta=0.2), Dot(), TfIdf(phi=0.7)]
)
def test_settings_survive_json(scoring: Any) -> None:
    again = scoring_from_json(json.loads(json.dumps(scoring.to_json())))
    assert again == scoring
    assert hash(again) == hash(scoring)


def test_numbers_of_any_kind_make_equal_settings() -> None:
    assert BM25(k1=np.float32(1.5), b=np.float64(0.75)) == BM25(k1=1.5) == BM25(k1=1.5, phi=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BM25(k1=-0.1),
        lambda: BM25(k1=math.nan),
        lambda: BM25(k1=math.inf),
        lambda: BM25(k1="1.5"),  # type: ignore[arg-type]
        lambda: BM25(k1=True),
        lambda: BM25(b=1.01),
        lambda: BM25(b=-0.01),
        lambda: BM25(b=None),  # type: ignore[arg-type]
        lambda: BM25(variant="okapi"),  # type: ignore[arg-type]
        lambda: BM25(delta=0.5),
        lambda: BM25(variant="bm25l", delta=-1.0),
        lambda: BM25(phi="log"),
        lambda: BM25(phi=0.0),
        lambda: Dot(phi=1.5),
        lambda: Dot(phi=None),  # type: ignore[arg-type]
        lambda: TfIdf(phi="power:nan"),
        lambda: scoring_from_json({"kind": "bm26"}),
        lambda: scoring_from_json({"kind": "bm25", "k2": 1}),
        lambda: scoring_from_json({}),
    ],
)
def test_bad_settings(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()
