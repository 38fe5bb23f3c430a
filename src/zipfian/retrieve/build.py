"""Laying a whole CSR matrix out at once (for `SparseIndex`); one list at a time is `searcher.py`'s way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index.phi import parse_phi
from zipfian.retrieve import kernels
from zipfian.retrieve.arena import Layout, windows
from zipfian.retrieve.layout import CHUNK, DENSE_SHARE, FORWARD_TERMS, ROW_PADDING, SHORT_PER_WINDOW, WINDOW
from zipfian.retrieve.scoring import Scoring, TfIdf


def from_csr(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    n_terms: int,
    scoring: Scoring,
) -> tuple[Layout, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """-> (layout, df, lengths). Slot numbers are term ids."""
    n_docs = len(indptr) - 1
    n_windows = windows(n_docs)
    # Our own copies, whatever the caller's arrays are: a reader may change theirs, and kernels need these exact types.
    indptr, indices, weights = np.array(indptr, np.int64), np.array(indices, np.int32), np.array(weights)
    start = np.zeros(n_terms + 1, np.int64)
    docs, tf = np.empty(len(indices), np.int32), np.empty(len(indices), weights.dtype)
    kernels.invert(indptr, indices, weights, start, docs, tf)
    df = np.diff(start)
    lengths = _lengths(indptr, weights, parse_phi(scoring.phi))
    if isinstance(scoring, TfIdf):
        norm = cosine_norms(indptr, indices, weights, scoring, df)
    else:
        norm = scoring.norms(lengths, float(lengths.mean()) if n_docs else 0.0)
    is_long = df >= SHORT_PER_WINDOW * n_windows
    is_dense = df * DENSE_SHARE > n_docs
    if n_docs < WINDOW // 4:  # a small index gains nothing from dense rows
        is_dense[:] = False
    short_df = np.where(is_long, 0, df)
    high_start = np.concatenate([[0], np.cumsum(short_df)])
    postings = kernels.Postings(
        start=start[:-1].copy(),
        stop=start[1:].copy(),
        loc=np.empty(len(docs), np.uint16),
        q=np.empty(len(docs), np.uint8),
        tf=tf,
        top=np.zeros(n_terms, np.float64),
        row=np.where(is_long, np.cumsum(is_long) - 1, -1).astype(np.int32),
        bounds=np.empty((int(is_long.sum()), n_windows + 1), np.int64),
        high=np.empty(int(high_start[-1]), np.uint16),
        high_start=high_start[:-1].copy(),
        dense=np.where(is_dense, np.cumsum(is_dense) - 1, -1).astype(np.int32),
        rows=np.zeros((int(is_dense.sum()), n_windows * WINDOW + ROW_PADDING), np.uint8),
        peak=np.zeros((int(is_dense.sum()), n_windows * WINDOW // CHUNK), np.uint8),
        rank=np.empty((int(is_dense.sum()), n_windows * WINDOW // CHUNK), np.int32),
    )
    spec = scoring.kernel().array()
    kernels.fill_all(docs, norm, spec, postings)
    if n_terms <= FORWARD_TERMS:
        forward = kernels.Forward(indptr, indices, weights)
    else:
        forward = kernels.Forward(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, weights.dtype))
    return Layout(postings, forward, norm, spec, n_docs), df, lengths


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
