"""Random fields and segments for the tests of the index."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from zipfian.index.field import FieldWriteSpec
from zipfian.types import FieldBatch, SegmentBatch

SPECS = {
    "count": FieldWriteSpec("count"),
    "fixed": FieldWriteSpec("fixed", 100.0),
    "float32": FieldWriteSpec("float32"),
    "sqrt": FieldWriteSpec("fixed", 100.0, "sqrt"),
}


def few(n: int) -> settings:
    """Fewer examples for a costly property, except in a soak run."""
    usual = settings.default.max_examples if settings.default else 100
    return settings(max_examples=n if usual <= 100 else usual)


def random_field(
    seed: int, n_docs: int, n_terms: int, mean: float, kind: str = "fixed", words: bool = False
) -> FieldBatch:
    """A field with Zipf-distributed terms; some documents are empty and some terms unused."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(n_terms) + 2)
    weights = rng.permutation(weights / weights.sum())
    rows = []
    for size in np.minimum(rng.poisson(mean, n_docs), n_terms // 2 + 1) if n_terms else np.zeros(n_docs, int):
        rows.append(np.sort(rng.choice(n_terms, size, replace=False, p=weights)) if size else np.empty(0, int))
    indices = np.concatenate([np.empty(0, int), *rows]).astype(np.int32)
    if kind == "float32":
        tf = np.exp(rng.normal(0, 1, len(indices))).astype(np.float32)
    elif kind == "count":
        tf = rng.geometric(0.6, len(indices)).astype(np.uint32)
    else:
        tf = np.clip(np.exp(rng.normal(5, 1, len(indices))), 1, 65535).astype(np.uint32)
    indptr = np.cumsum([0, *map(len, rows)])
    terms = sorted({f"w{i:x}é" if i % 3 else f"w{i}" for i in range(n_terms)}) if words else np.arange(n_terms) * 3 + 1
    return FieldBatch(indptr.astype(np.int64), terms, indices, tf)


@st.composite
def fields(
    draw: st.DrawFn, max_docs: int = 200, max_terms: int = 40, kinds: tuple[str, ...] = ("count", "fixed", "float32")
) -> tuple[FieldBatch, FieldWriteSpec]:
    """(batch, spec): small fields of any kind."""
    kind = draw(st.sampled_from(kinds))
    n_terms = draw(st.integers(0, max_terms))
    seed, n_docs, mean = draw(st.integers(0, 10**6)), draw(st.integers(0, max_docs)), draw(st.floats(0, 10))
    return random_field(seed, n_docs, n_terms, mean, kind, draw(st.booleans())), SPECS[kind]


def as_rows(batch: FieldBatch) -> list[dict[Any, Any]]:
    """Each document as {term: tf}: what a field means, free of how terms are numbered."""
    terms = batch.terms if isinstance(batch.terms, list) else [int(t) for t in batch.terms]
    ends = batch.indptr.tolist()
    named = [(terms[i], tf) for i, tf in zip(batch.indices.tolist(), batch.tf.tolist(), strict=True)]
    return [dict(named[a:b]) for a, b in itertools.pairwise(ends)]


def from_rows(rows: list[dict[Any, Any]], like: FieldBatch) -> FieldBatch:
    """The batch of documents given as {term: tf}."""
    terms = sorted({t for row in rows for t in row})
    number = {t: i for i, t in enumerate(terms)}
    indices = [number[t] for row in rows for t in sorted(row)]
    return FieldBatch(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        terms if isinstance(like.terms, list) else np.array(terms, np.int64),
        np.array(indices, np.int32),
        np.array([row[t] for row in rows for t in sorted(row)], like.tf.dtype),
    )


def segment_batch(
    ids: list[str],
    fields: dict[str, FieldBatch],
    metadata: list[dict[str, Any]] | None = None,
    vectors: Any = None,
    texts: list[str | None] | None = None,
) -> SegmentBatch:
    """A batch with made-up texts where none are given."""
    n = len(ids)
    return SegmentBatch(
        ids,
        texts
        if texts is not None
        else [None if i % 5 == 4 else f"text of {name} " * (i % 7) for i, name in enumerate(ids)],
        metadata if metadata is not None else [{}] * n,
        fields,
        vectors or {},
    )
