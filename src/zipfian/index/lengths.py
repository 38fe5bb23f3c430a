"""Document lengths as integers.

The mean length enters every BM25 score. Summing floats gives a value that depends on the order of the documents,
so an index that was merged would score differently from one built at once. Lengths are therefore fixed-point
integers: their sums are exact in any order, and a rebuild gives the same scores bit for bit.

The length of a document is the L1 norm of its weights after the activation transform phi:

- phi = identity on integer weights (`count`, `fixed`): the sum of the stored integers, in units of 1/scale;
- otherwise: the sum of rint(phi(weight) * 2**20), in units of 2**-20.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zipfian.errors import LimitExceeded
from zipfian.index._arrays import Ints, chunks, offsets
from zipfian.index.phi import apply_phi, parse_phi
from zipfian.limits import MAX_PHI_WEIGHT
from zipfian.types import TfKind

FRACTION_BITS = 20
"""Binary digits after the point of a length that is not a sum of stored integers."""

_CHUNK = 1 << 16


def length_unit(tf_kind: TfKind, scale: float, phi: str) -> float:
    """What one unit of a stored length is worth."""
    return 1.0 / scale if _sums_stored(tf_kind, phi) else 2.0**-FRACTION_BITS


def posting_lengths(
    tf: npt.NDArray[np.uint32] | npt.NDArray[np.float32], tf_kind: TfKind, scale: float, phi: str
) -> Ints:
    """The share of each posting in its document's length, in units of `length_unit`."""
    if _sums_stored(tf_kind, phi):
        return tf.astype(np.int64)
    weights = tf.astype(np.float64)
    if tf_kind != "float32":
        weights /= scale
    shares = apply_phi(weights, phi)
    if len(shares) and float(shares.max()) > MAX_PHI_WEIGHT:
        raise LimitExceeded(f"phi={phi!r} turns a weight into {shares.max():g}; the limit is {MAX_PHI_WEIGHT:g}")
    return np.rint(shares * 2.0**FRACTION_BITS).astype(np.int64)


def document_lengths(
    indptr: Ints,
    tf: npt.NDArray[np.uint32] | npt.NDArray[np.float32],
    tf_kind: TfKind,
    scale: float,
    phi: str,
) -> Ints:
    """The length of each document, in units of `length_unit`; `tf` is laid out by document as `indptr` says."""
    out = np.empty(len(indptr) - 1, np.int64)
    for first, last in chunks(indptr[1:], _CHUNK):
        piece = slice(int(indptr[first]), int(indptr[last]))
        running = offsets(posting_lengths(tf[piece], tf_kind, scale, phi))
        out[first:last] = np.diff(running[indptr[first : last + 1] - piece.start])
    return out


def exact_sum(lengths: npt.NDArray[np.integer]) -> int:
    """The sum as a Python integer: right even where 64 bits would overflow."""
    wide = lengths.astype(np.uint64)
    return (int((wide >> np.uint64(32)).sum()) << 32) + int((wide & np.uint64(0xFFFFFFFF)).sum())


def _sums_stored(tf_kind: TfKind, phi: str) -> bool:
    return tf_kind != "float32" and parse_phi(phi) == 1.0
