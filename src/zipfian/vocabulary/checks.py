"""What every vocabulary that reads an encoder must keep to, as one check for the tests of whoever writes one."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.types import Encoded, Terms
from zipfian.vocabulary.base import Vocabulary


def check_vocabulary(vocabulary: Vocabulary, items: Sequence[Encoded]) -> None:
    """Check that a vocabulary keeps the promises that fields and indexes rely on.

    Parameters
    ----------
    vocabulary
        Any object with the methods of `Vocabulary`.
    items
        Some passes of its encoder, at least one with terms.

    Raises
    ------
    InvalidInput
        The first promise that is broken, in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from zipfian.vocabulary.scalar import ScalarVocabulary
    >>> vectors = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    >>> none = np.empty((0, 8), np.float32), np.empty((0, 2), np.int32), np.empty(0, np.int32)
    >>> check_vocabulary(ScalarVocabulary.fit([vectors]), [Encoded(*none, pooled=row) for row in vectors])
    """
    _expect(isinstance(vocabulary, Vocabulary), "it lacks a method of zipfian.vocabulary.Vocabulary")
    _expect(vocabulary.n_terms >= 1, f"n_terms is {vocabulary.n_terms}: there must be at least one term")
    _expect(bool(vocabulary.fingerprint), "its fingerprint is empty")
    json.dumps(vocabulary.to_json(), allow_nan=False)
    found = 0
    for item in items:
        terms = vocabulary.terms(item)
        _check_terms(terms, vocabulary.n_terms)
        found += len(terms)
        _expect(_same(terms, vocabulary.terms(item)), "the same item has other terms the second time")
        kept = {name: np.array(array) for name, array in vocabulary.compact(item).items()}
        _expect(_same(terms, vocabulary.from_compact(kept)), "from_compact(compact(item)) differs from terms(item)")
        for term in terms.ids.tolist():
            _expect(isinstance(vocabulary.label(term), str), f"the label of term {term} is no text")
        for term, rows in vocabulary.evidence(item, terms.ids.tolist()).items():
            _expect(term in terms.ids, f"evidence for term {term}, which was not wanted")
            _expect(all(0 <= token < len(item.vectors) for token, _ in rows), f"term {term} fired at no token")
            strengths = [strength for _, strength in rows]
            _expect(strengths == sorted(strengths, reverse=True), f"the places of term {term} are not strongest first")
    _expect(found > 0, "none of the items has a term: give items that have")


def _check_terms(terms: Terms, n_terms: int) -> None:
    ids, weights = terms.ids, terms.weights
    _expect(ids.dtype == np.int32 and weights.dtype == np.float32, "terms are int32 ids and float32 weights")
    _expect(bool((ids[1:] > ids[:-1]).all()), "term ids must ascend without duplicates")
    _expect(not len(ids) or (ids[0] >= 0 and ids[-1] < n_terms), f"term ids must lie in 0 .. {n_terms - 1}")
    _expect(bool(np.isfinite(weights).all() and (weights > 0).all()), "weights must be finite and above 0")


def _same(one: Terms, other: Terms) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.weights, other.weights)


def _expect(kept: bool, problem: str) -> None:
    if not kept:
        raise InvalidInput(f"this vocabulary does not keep its promises: {problem}")
