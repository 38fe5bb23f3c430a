"""Checks on what callers hand to the engine: clear errors before a kernel sees anything."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, ZipfianError, shown
from zipfian.index.phi import parse_phi
from zipfian.retrieve.scoring import BM25, Dot, Scoring, TfIdf


def check_k(k: Any) -> int:
    """A usable number of hits."""
    value = _whole("k", k)
    if value < 1:
        raise InvalidInput(f"k must be at least 1, not {shown(value)}")
    if value > limits.MAX_K:
        raise LimitExceeded(f"k is {shown(value)}, the limit is {limits.MAX_K}")
    return value


def check_offset(offset: Any, k: Any) -> tuple[int, int]:
    """A usable number of hits to pass over, and of those that are wanted after them."""
    wanted, value = check_k(k), _whole("offset", offset)
    if value < 0:
        raise InvalidInput(f"offset must be at least 0, not {shown(value)}")
    if value + wanted > limits.MAX_K:
        raise LimitExceeded(f"offset + k is {shown(value + wanted)}, the limit is {limits.MAX_K}")
    return value, wanted


def _whole(name: str, given: Any) -> int:
    if type(given) is int:  # nearly always, and looking for the method costs several microseconds
        return given
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise InvalidInput(f"{name} must be a whole number, not {shown(given)}")
    try:
        return operator.index(given)
    except TypeError:  # an array has the method, too
        raise InvalidInput(f"{name} must be a whole number, not {shown(given)}") from None


def check_scoring(scoring: Any) -> Scoring:
    """One of the formulas of `scoring`."""
    if not isinstance(scoring, BM25 | Dot | TfIdf):
        raise InvalidInput(f"scoring must be BM25(...), Dot() or TfIdf(), not {shown(scoring)}")
    return scoring


def plain(values: npt.ArrayLike, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """An array of exactly the type that kernels are compiled for.

    Another dtype, byte order or stride, or a read-only buffer, would compile them anew, which takes seconds.
    """
    out: npt.NDArray[Any] = np.asarray(values, dtype)
    return out if out.flags.carray else np.array(out, dtype, order="C")  # carray: contiguous, aligned and writable


def whole_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """A one-dimensional integer array; floats are refused rather than cut."""
    try:
        out = np.asarray(values)
    except ValueError:
        raise InvalidInput(f"{what} must be a flat list of whole numbers") from None
    if out.ndim != 1:
        raise InvalidInput(f"{what} must be one-dimensional, not of shape {out.shape}")
    if len(out) == 0:
        return out.astype(np.int64)
    if out.dtype.kind not in "iu":
        raise InvalidInput(f"{what} must be whole numbers, not {out.dtype}")
    return out


def check_weights(values: npt.NDArray[Any], what: str, limit: float) -> None:
    """Finite, positive, not absurd."""
    if len(values) == 0:
        return
    low, high = float(values.min()), float(values.max())  # NaN propagates through both
    if not (low > 0.0 and high <= limit):
        bad = int(np.flatnonzero(~((values > 0.0) & (values <= limit)))[0])
        raise InvalidInput(
            f"{what} must be finite, above 0 and at most {limit:g}; number {bad} is {float(values[bad])!r}"
        )


def check_mask(mask: npt.ArrayLike, n_docs: int) -> npt.NDArray[np.bool_]:
    """One bool per document."""
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != (n_docs,):
        raise InvalidInput(f"mask must hold one bool per document ({n_docs}), not {found.dtype} of shape {found.shape}")
    return found


def check_csr(
    indptr: npt.ArrayLike, indices: npt.ArrayLike, weights: npt.ArrayLike, n_terms: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[Any]]:
    """CSR rows with ascending term ids and positive weights, or an error that names the first bad row."""
    if isinstance(n_terms, bool) or not isinstance(n_terms, (int, np.integer)) or n_terms < 0:
        raise InvalidInput(f"n_terms must be a whole number >= 0, not {shown(n_terms)}")
    if n_terms > limits.MAX_TERMS:
        raise LimitExceeded(f"n_terms is {n_terms}, the limit is {limits.MAX_TERMS}")
    ip = whole_numbers(indptr, "indptr").astype(np.int64, copy=False)
    ix = whole_numbers(indices, "indices")
    w = numbers(weights, "weights")
    if len(ip) == 0 or ip[0] != 0 or ip[-1] != len(ix) or np.any(ip[1:] < ip[:-1]):
        raise InvalidInput(f"indptr must ascend from 0 to len(indices) = {len(ix)}")
    if len(ip) - 1 > limits.MAX_DOCUMENTS:
        raise LimitExceeded(f"{len(ip) - 1} documents, the limit is {limits.MAX_DOCUMENTS}")
    if w.shape != ix.shape:
        raise InvalidInput(f"{len(ix)} indices but weights of shape {w.shape}")
    if w.dtype not in (np.float32, np.float64):
        w = w.astype(np.float32 if w.dtype.kind == "f" and w.dtype.itemsize <= 4 else np.float64)
    if len(ix):
        if int(ix.min()) < 0 or int(ix.max()) >= n_terms:
            raise InvalidInput(f"term ids must lie in 0 .. {n_terms - 1}; found {int(ix.min())} .. {int(ix.max())}")
        starts = np.zeros(len(ix), np.bool_)
        starts[ip[:-1][ip[:-1] < len(ix)]] = True
        bad = np.flatnonzero((ix[1:] <= ix[:-1]) & ~starts[1:])
        if len(bad):
            row = int(np.searchsorted(ip, bad[0] + 1, side="right")) - 1
            raise InvalidInput(
                f"row {row}: term ids must ascend without duplicates (found {ix[bad[0]]}, {ix[bad[0] + 1]})"
            )
    check_weights(w, "weights", limits.MAX_WEIGHT)
    return ip, ix, w


def check_query(
    terms: npt.ArrayLike, weights: npt.ArrayLike | None, scoring: Scoring
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Query terms, and their weights after phi (none when not given: the kernel then takes 1).

    Ranges, duplicates and signs are checked by `kernels.weigh` in one pass; see `explain_code`.
    """
    t = whole_numbers(terms, "query terms")
    if len(t) > limits.MAX_QUERY_TERMS:
        raise LimitExceeded(f"a query of {len(t)} terms, the limit is {limits.MAX_QUERY_TERMS}")
    return plain(t, np.int64), _given(weights, t.shape, scoring)


def check_batch(
    indptr: npt.ArrayLike, terms: npt.ArrayLike, weights: npt.ArrayLike | None, scoring: Scoring
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.float64]]:
    """The rows of a batch of queries; terms and weights beyond the last row are left out."""
    rows = plain(whole_numbers(indptr, "indptr"), np.int64)
    t = whole_numbers(terms, "query terms")
    if len(rows) == 0 or rows[0] < 0 or np.any(rows[1:] < rows[:-1]) or rows[-1] > len(t):
        raise InvalidInput(f"indptr must ascend within 0 .. {len(t)}, the number of query terms")
    if len(rows) > 1 and int(np.diff(rows).max()) > limits.MAX_QUERY_TERMS:
        raise LimitExceeded(f"a query of {int(np.diff(rows).max())} terms, the limit is {limits.MAX_QUERY_TERMS}")
    given = None if weights is None else numbers(weights, "query weights")
    if given is not None and given.shape != t.shape:
        raise InvalidInput(f"{len(t)} query terms but weights of shape {given.shape}")
    end = int(rows[-1])
    return rows, plain(t[:end], np.int64), _given(None if given is None else given[:end], (end,), scoring)


def numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """An array of numbers, of whatever size they are given in."""
    try:
        out = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be a sequence of numbers") from None
    if out.dtype.kind not in "iuf" and out.size:
        raise InvalidInput(f"{what} must be numbers, not {out.dtype}")
    return out


def _given(weights: npt.ArrayLike | None, shape: tuple[int, ...], scoring: Scoring) -> npt.NDArray[np.float64]:
    if weights is None:
        return np.empty(0, np.float64)
    w = numbers(weights, "query weights")
    if w.shape != shape:
        raise InvalidInput(f"{shape[0]} query terms but weights of shape {w.shape}")
    w = plain(w, np.float64)
    phi = parse_phi(scoring.phi)
    if phi != 1.0 or isinstance(scoring, TfIdf):
        check_weights(w, "query weights", limits.MAX_QUERY_WEIGHT)
    return w if phi == 1.0 else np.sqrt(w) if phi == 0.5 else np.power(w, phi)


def explain_code(code: int, n_terms: int, where: str = "") -> ZipfianError:
    """The error behind a negative answer of `kernels.weigh`."""
    if code == -1:
        return InvalidInput(f"{where}query terms must lie in 0 .. {n_terms - 1}")
    if code == -2:
        return InvalidInput(f"{where}query weights must be finite, above 0 and at most {limits.MAX_QUERY_WEIGHT:g}")
    return InvalidInput(f"{where}a query names a term twice; add the weights up first")
