"""Random corpora for the engine's tests: sizes around window bounds, terms from absent to everywhere, many ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests.conftest import SOAK
from tests.retrieve.brute import Corpus, from_columns
from zipfian import BM25, Dot

SMALL = (1, 2, 3, 63, 64, 65, 129, 1000)
WINDOWED = (8_192, 32_767, 32_768, 32_769, 32_770, 65_536, 70_001, 98_305)
SHARES = (0.0, 1e-9, 0.0003, 0.01, 0.06, 0.07, 0.12, 0.13, 0.4, 0.95, 1.0)
"""Of all documents; 1e-9 stands for one. Dense rows begin above 1/16, and are always read above 1/8."""

KINDS = ("ones", "counts", "uniform", "lognormal", "extreme", "ramp")

SCORINGS = (
    BM25(),
    BM25(k1=0.0),
    BM25(k1=1.2, b=0.0, variant="lucene"),
    BM25(k1=8.0, b=1.0, variant="robertson"),
    BM25(variant="atire", phi="sqrt"),
    BM25(variant="bm25l"),
    BM25(variant="bm25+", delta=0.3),
    Dot(),
    Dot(phi="sqrt"),
)


def examples(n: int) -> settings:
    """So many examples, and twenty times as many in a soak run."""
    return settings(max_examples=n * 20 if SOAK else n)


def weights(rng: np.random.Generator, kind: str, n: int) -> Any:
    if kind == "ones":
        return np.ones(n)
    if kind == "counts":
        return rng.integers(1, 5, n).astype(np.float64)
    if kind == "uniform":
        return rng.random(n) + 0.01
    if kind == "lognormal":
        return np.clip(np.exp(2.0 * rng.standard_normal(n)), 1e-6, 1e6)
    if kind == "extreme":
        return np.where(rng.random(n) < 0.01, 1e6, 1e-6)
    return np.linspace(0.1, 10.0, n)  # ramp: later documents score higher


def make(rng: np.random.Generator, n_docs: int, shares: Any, kinds: Any, dtype: Any = np.float32) -> Corpus:
    columns = []
    for share, kind in zip(shares, kinds, strict=True):
        n = 0 if share == 0.0 else max(1, round(share * n_docs))
        docs = np.sort(rng.choice(n_docs, n, replace=False))
        columns.append((docs, weights(rng, kind, n)))
    return from_columns(n_docs, columns, dtype)


@st.composite
def corpora(draw: st.DrawFn, sizes: tuple[int, ...] = SMALL) -> Corpus:
    """A corpus whose large parts come from a seed, so that examples stay small to generate and to print."""
    n_docs = draw(st.sampled_from(sizes))
    n_terms = draw(st.integers(1, 8))
    shares = [draw(st.sampled_from(SHARES)) for _ in range(n_terms)]
    kinds = [draw(st.sampled_from(KINDS)) for _ in range(n_terms)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return make(rng, n_docs, shares, kinds, draw(st.sampled_from([np.float32, np.float64])))


@st.composite
def queries(draw: st.DrawFn, n_terms: int) -> tuple[Any, Any]:
    """Distinct terms in any order, with or without weights from tiny to huge."""
    terms = draw(st.permutations(range(n_terms)))[: draw(st.integers(0, n_terms))]
    if draw(st.booleans()):
        return np.array(terms, np.int64), None
    sizes = st.sampled_from([1.0, 0.5, 2.0, 3.0, 1e-6, 1e-3, 1e6])
    return np.array(terms, np.int64), np.array([draw(sizes) for _ in terms])


@st.composite
def masks(draw: st.DrawFn, n_docs: int) -> Any:
    """No mask, or one that allows none, one, few, half or all documents."""
    share = draw(st.sampled_from([None, 0.0, "one", 0.001, 0.5, 1.0]))
    if share is None:
        return None
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    if share == "one":
        return np.arange(n_docs) == rng.integers(n_docs)
    return rng.random(n_docs) < share
