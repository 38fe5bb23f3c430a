"""Laying a whole CSR matrix out at once (for `SparseIndex`); one list at a time is `searcher.py`'s way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index.phi import parse_phi
from zipfian.retrieve import kernels
from zipfian.retrieve.arena import NO_CODES, NO_TABLE, Layout, windows
from zipfian.retrieve.layout import CHUNK, CODES, DENSE_SHARE, ROW_PADDING, SHORT_PER_WINDOW, SPAN, WINDOW
from zipfian.retrieve.scoring import Scoring, TfIdf
from zipfian.retrieve.validate import plain


def from_csr(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    n_terms: int,
    scoring: Scoring,
) -> tuple[Layout, npt.NDArray[np.float64]]:
    """-> (layout, lengths). Slot numbers are term ids."""
    n_docs = len(indptr) - 1
    indptr, indices, weights = plain(indptr, np.int64), plain(indices, np.int32), plain(weights, weights.dtype.type)
    start = np.zeros(n_terms + 1, np.int64)
    kernels.count_terms(indices, start)
    df = np.diff(start)
    lengths = _lengths(indptr, weights, parse_phi(scoring.phi))
    if isinstance(scoring, TfIdf):
        norm = cosine_norms(indptr, indices, weights, scoring, df)
    else:
        norm = scoring.norms(lengths, float(lengths.mean()) if n_docs else 0.0)
    bare = _room(start, n_docs)
    long_slots = np.flatnonzero(bare.row >= 0)
    coded = bare._replace(code=np.empty(len(indices), np.uint16), table=np.empty(CODES, np.float64))
    n_values = kernels.invert(indptr, indices, weights, weights.view(f"u{weights.itemsize}"), long_slots, coded)
    if n_values >= 0:
        postings = coded._replace(table=coded.table[:n_values].copy())
    else:
        del coded
        postings = bare._replace(tf=np.empty(len(indices), weights.dtype))
        kernels.invert(indptr, indices, weights, weights.view(f"u{weights.itemsize}"), long_slots, postings)
    spec = scoring.kernel().array()
    kernels.fill_all(norm, spec, postings)
    return Layout(postings, norm, spec, n_docs), lengths


def _room(start: npt.NDArray[np.int64], n_docs: int) -> kernels.Postings:
    """Arrays for lists of these lengths, with which of them are long and dense; weights are the caller's to add."""
    n_terms, n_postings, n_windows = len(start) - 1, int(start[-1]), windows(n_docs)
    df = np.diff(start)
    is_long = df >= SHORT_PER_WINDOW * n_windows
    is_dense = df * DENSE_SHARE > n_docs
    if n_docs < WINDOW // 4:  # a small index gains nothing from dense rows
        is_dense[:] = False
    n_long, n_dense = int(is_long.sum()), int(is_dense.sum())
    high_start = np.concatenate([[0], np.cumsum(np.where(is_long, 0, df))])
    return kernels.Postings(
        start=start[:-1],
        stop=start[1:],
        loc=np.empty(n_postings + SPAN, np.uint16),
        q=np.empty(n_postings, np.uint8),
        tf=np.empty(0, np.float32),
        code=NO_CODES,
        table=NO_TABLE,
        top=np.zeros(n_terms, np.float64),
        row=np.where(is_long, np.cumsum(is_long) - 1, -1).astype(np.int32),
        bounds=np.empty((n_long, n_windows + 1), np.int32),
        high=np.empty(int(high_start[-1]), np.uint16),
        high_start=high_start[:-1].copy(),
        dense=np.where(is_dense, np.cumsum(is_dense) - 1, -1).astype(np.int32),
        rows=np.zeros((n_dense, n_windows * WINDOW + ROW_PADDING), np.uint8),
        peak=np.zeros((n_dense, n_windows * WINDOW // CHUNK), np.uint8),
        rank=np.empty((n_dense, n_windows * WINDOW // CHUNK), np.int32),
    )


def _lengths(indptr: npt.NDArray[np.int64], weights: npt.NDArray[Any], phi: float) -> npt.NDArray[np.float64]:
    """L1 norm of every row after phi."""
    if phi != 1.0:
        weights = weights.astype(np.float64)
        weights = np.sqrt(weights) if phi == 0.5 else np.power(weights, phi)
    out: npt.NDArray[np.float64] = kernels.row_sums(indptr, weights)
    return out


def cosine_norms(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    scoring: TfIdf,
    df: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Euclidean length of every document's TF-IDF vector."""
    idf = scoring.idf(df.astype(np.float64), len(indptr) - 1)
    w = weights.astype(np.float64)
    phi = parse_phi(scoring.phi)
    w = w if phi == 1.0 else np.power(w, phi)
    v = np.maximum(1.0 + np.log(w), 0.0) * idf[indices]
    out: npt.NDArray[np.float64] = np.sqrt(kernels.row_sums(indptr, v * v))
    return out
