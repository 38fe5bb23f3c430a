"""Terms that are numbers: checked, brought into the form in which a field stores them, laid out for a segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.item import Item, passages_of
from zipfian.types import FieldBatch, Terms, TfKind
from zipfian.vocabulary import prune_terms
from zipfian.vocabulary.quantise import check_weights, fixed_steps

if TYPE_CHECKING:
    from zipfian.fields.base import PostingField


def check_terms(value: Any, n_terms: int) -> Terms:
    """`Terms`, a pair (ids, weights) or a mapping id -> weight, as checked `Terms`."""
    raw_ids: Any
    raw_weights: Any
    if isinstance(value, Mapping):
        try:
            raw_ids = sorted(value)
        except TypeError:
            raise InvalidInput("term ids must be whole numbers") from None
        raw_weights = [value[t] for t in raw_ids]
    elif isinstance(value, Terms):
        raw_ids, raw_weights = value.ids, value.weights
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        raw_ids, raw_weights = value
    else:
        raise InvalidInput(
            f"terms must be Terms, (ids, weights) or a mapping, not {shown(value)}; a vector is a numpy array"
        )
    try:
        ids, weights = np.asarray(raw_ids), np.asarray(raw_weights)
    except ValueError:
        raise InvalidInput("term ids and weights must be plain sequences of numbers") from None
    if ids.ndim != 1 or ids.shape != weights.shape:
        raise InvalidInput(f"{ids.shape} term ids do not go with {weights.shape} weights")
    if len(ids) == 0:
        return Terms(np.empty(0, np.int32), np.empty(0, np.float32))
    if ids.dtype.kind not in "iu":
        raise InvalidInput(f"term ids must be whole numbers, not {ids.dtype}")
    if len(ids) > limits.MAX_DOCUMENT_TERMS:
        raise LimitExceeded(f"{len(ids)} terms, the limit is {limits.MAX_DOCUMENT_TERMS}")
    ascending = bool(np.logical_and.reduce(ids[1:] > ids[:-1]))
    low, high = (int(ids[0]), int(ids[-1])) if ascending else (int(ids.min()), int(ids.max()))
    if low < 0 or high >= n_terms:
        raise InvalidInput(f"term ids must lie in 0 .. {n_terms - 1}; found {low} .. {high}")
    if not ascending:
        raise InvalidInput("term ids must ascend without duplicates")
    if weights.dtype.kind not in "fiu" or not np.maximum.reduce(weights) <= limits.MAX_WEIGHT:
        check_weights(weights)  # says what is wrong
    stored = weights.astype(np.float32)
    if not np.minimum.reduce(stored) > 0.0:
        check_weights(weights)
        raise InvalidInput("weights must be above 0 (as 32-bit numbers): leave a term out instead")
    return Terms(ids.astype(np.int32), stored)


def store_terms(item: Item, field_name: str, field: PostingField, value: Any) -> None:
    """Terms of any origin in the form in which the field stores them."""
    try:
        terms = prune_terms(check_terms(value, field.n_terms), field.pruning)
        stored: npt.NDArray[Any] = terms.weights
        lost = 0
        if field.tf == "fixed":
            fixed = fixed_steps(terms.weights, field.scale)
            item.clipped += fixed.clipped
            item.zeroed += fixed.zeroed
            stored, lost = fixed.steps, fixed.zeroed
        elif field.tf == "count":
            if np.any(terms.weights != np.rint(terms.weights)) or (len(terms) and terms.weights.max() >= 2**24):
                raise InvalidInput(f"this field stores counts: weights must be whole numbers below {2**24}")
            stored = terms.weights.astype(np.uint32)
    except (InvalidInput, LimitExceeded) as e:
        raise type(e)(f"field {field_name!r}: {e}") from None
    ids = terms.ids
    if lost:  # a weight that rounds to nothing is no posting
        keep = stored > 0
        ids, stored = ids[keep], stored[keep]
    item.terms[field_name] = (ids, stored)


def terms_batch(name: str, tf: TfKind, items: Iterable[Item]) -> FieldBatch:
    """The terms that some documents came with, or were given by an encoder, in the field `name`."""
    tf_type: Any = np.float32 if tf == "float32" else np.uint32
    documents = list(items)
    rows = [row.terms.get(name) for item in documents for row in item.rows(name)]
    sizes = np.array([0 if r is None else len(r[0]) for r in rows], np.int64)
    ids = np.concatenate([np.empty(0, np.int32), *(r[0] for r in rows if r is not None)])
    weights = np.concatenate([np.empty(0, tf_type), *(r[1] for r in rows if r is not None)]).astype(tf_type)
    terms, places = np.unique(ids, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    passages = passages_of(documents, name)
    return FieldBatch(indptr, terms.astype(np.int64), places.astype(np.int32), weights, passages)
