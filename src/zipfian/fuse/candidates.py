"""What goes into a fusion and what comes out of it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, shown

Ints = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

Score = Callable[[int, Ints], F64]
"""`score(i, docs)`: exact scores of documents (ascending) in the i-th field; NaN where it can have none."""

Cover = Callable[[Ints], F64]
"""`cover(docs)`: the share of the query's words, by idf, that each of some documents (ascending) has, 0 to 1."""


@dataclass(frozen=True, slots=True)
class FieldList:
    """What one field found: its best documents, best first, and how many documents it could have scored.

    Examples
    --------
    >>> FieldList("words", np.array([7, 3]), np.array([4.0, 1.0]), n_scored=9).docs.tolist()
    [7, 3]
    """

    name: str
    """The field's."""
    docs: Ints
    """Document numbers, best first."""
    scores: F64
    """Their exact scores."""
    n_scored: int
    """Documents the field has a score for under this filter. A field of terms scores every document (0.0 where no term
    is shared); a field of vectors those that have one."""
    weight: float = 1.0
    """What it counts in `Adaptive` before the query is looked at; the field's own (`Field.weight`)."""
    mean_words: float | None = None
    """Words of the texts that a field of pooled vectors stands for, on average, if they are texts."""
    source: str | None = None
    """What of a document it reads, `text` or `image`: where one field finds nothing to read, none of it does."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The union of what the fields found, in document order, with the exact score of every document in every field.

    Examples
    --------
    >>> found = [FieldList("a", np.array([7]), np.array([4.0]), 9), FieldList("b", np.array([3]), np.array([0.9]), 9)]
    >>> candidates = gather(found, lambda i, docs: np.full(len(docs), 0.5))
    >>> candidates.names, candidates.docs.tolist()
    (('a', 'b'), [3, 7])
    """

    fields: tuple[FieldList, ...]
    """What each field found."""
    docs: Ints
    """Document numbers, ascending."""
    scores: F64
    """(documents, fields): raw scores; NaN where a field has none for a document."""
    ranks: Ints
    """(documents, fields): place in the field's own list, from 1; 0 where it is not in the list."""
    cover: Cover | None = None
    """Tells the share of the query's words that documents have, for a method that asks; None: no words were asked."""
    lexical: int = 0
    """The field whose words those are, by place."""

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names."""
        return tuple(field.name for field in self.fields)


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """A ranking, best first, and where every score came from.

    Examples
    --------
    >>> from zipfian.fuse import Linear
    >>> found = [FieldList("a", np.array([7]), np.array([4.0]), 9), FieldList("b", np.array([3]), np.array([0.9]), 9)]
    >>> candidates = gather(found, lambda i, docs: np.full(len(docs), 0.5))
    >>> fused = Linear(normalise="none").fuse(candidates)
    >>> fused.docs.tolist(), fused.scores.tolist(), fused.shares.tolist()
    ([7, 3], [4.5, 1.4], [[4.0, 0.5], [0.5, 0.9]])
    """

    fields: tuple[str, ...]
    """The fields' names."""
    docs: Ints
    """Document numbers, best first."""
    scores: F64
    """What they are ranked by."""
    raw: F64
    """(documents, fields): the fields' own scores."""
    normalised: F64
    """(documents, fields): the same on the scale they were fused on."""
    ranks: Ints
    """(documents, fields): place in the field's own list, from 1; 0 where it is not in the list."""
    shares: F64
    """(documents, fields): parts of the score, in its own unit. Added from left to right they give `scores` to the last
    bit. They may be negative where a document is worse in a field than that field's population."""
    weights: F64
    """(fields,): the weights of this query."""
    proved: int
    """So many of the first hits are certain: no document outside the candidates could score above them."""
    populations: tuple[Mapping[str, float], ...] = ()
    """For each field what its scores were normalised by: mean and deviation, or low and high."""
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Method and settings, and the signals that set the weights."""
    scale: F64 | None = None
    """(documents,): what the weights are multiplied by, where a document is judged by some of the fields only."""
    reward: F64 | None = None
    """(documents,): what a document got for having the words of the query; part of the share of field `lexical`."""
    covered: F64 | None = None
    """(documents,): the share of the words it has."""
    lexical: int = 0
    """The field, by place, whose share the reward is."""

    def __len__(self) -> int:
        return len(self.docs)

    def top(self, k: int) -> Fused:
        """The first k."""
        rows = slice(0, k)
        return Fused(
            self.fields, self.docs[rows], self.scores[rows], self.raw[rows], self.normalised[rows], self.ranks[rows],
            self.shares[rows], self.weights, min(self.proved, k), self.populations, self.about,
            _rows(self.scale, rows), _rows(self.reward, rows), _rows(self.covered, rows), self.lexical,
        )  # fmt: skip


def _rows(part: F64 | None, rows: slice | Ints) -> F64 | None:
    return None if part is None else part[rows]


def gather(
    fields: Sequence[FieldList], score: Score, also: Ints | None = None,
    covered: tuple[int, Cover] | None = None,
) -> Candidates:  # fmt: skip
    """The union of the fields' lists; whoever missed a field's list gets its exact score from that field all the same.

    Parameters
    ----------
    fields
        What each field found, at least one; every field once.
    score
        `score(i, docs)`: exact scores of documents (ascending) in the i-th field; NaN where it can have none.
    also
        Documents that take part although no field lists them: to learn what they would score.
    covered
        Of a query with words: the place of the field that was asked for them, and what tells for documents (ascending)
        the share of the words that each has.

    Returns
    -------
    Candidates
        Ready for the `fuse` of any method.

    Raises
    ------
    InvalidInput
        No field, one field twice, a list out of order, or scores that are not one finite number for each document.

    Examples
    --------
    >>> found = [FieldList("a", np.array([7]), np.array([4.0]), 9), FieldList("b", np.array([3]), np.array([0.9]), 9)]
    >>> gather(found, lambda i, docs: np.full(len(docs), 0.5)).scores.tolist()
    [[0.5, 0.9], [4.0, 0.5]]
    """
    if not fields:
        raise InvalidInput("a fusion needs at least one field")
    names = [field.name for field in fields]
    if len(set(names)) != len(names):
        raise InvalidInput(f"every field is fused once: {', '.join(names)}")
    docs = np.unique(
        np.concatenate([np.asarray(field.docs, np.int64) for field in fields] + ([] if also is None else [also]))
    )
    scores = np.empty((len(docs), len(fields)), np.float64)
    ranks = np.zeros((len(docs), len(fields)), np.int64)
    for i, field in enumerate(fields):
        _check(field)
        at = np.searchsorted(docs, field.docs)
        scores[at, i] = field.scores
        ranks[at, i] = np.arange(1, len(field.docs) + 1)
        missing = np.flatnonzero(ranks[:, i] == 0)
        if len(missing):
            found = np.asarray(score(i, docs[missing]), np.float64)
            if found.shape != missing.shape or np.isinf(found).any():
                raise InvalidInput(f"field {field.name!r} gave no usable scores for {len(missing)} candidates")
            scores[missing, i] = found
    place, cover = covered or (0, None)
    return Candidates(tuple(fields), docs, scores, ranks, cover, place)


def _check(field: FieldList) -> None:
    if field.docs.shape != field.scores.shape or field.docs.ndim != 1:
        raise InvalidInput(f"field {field.name!r}: {field.docs.shape} documents but {field.scores.shape} scores")
    if not np.isfinite(field.scores).all():
        raise InvalidInput(f"field {field.name!r} holds scores that are NaN or infinite")
    if len(field.scores) > 1 and np.any(np.diff(field.scores) > 0):
        raise InvalidInput(f"field {field.name!r}: the list must be in descending order of scores")
    if field.n_scored < len(field.docs):
        raise InvalidInput(f"field {field.name!r} lists {len(field.docs)} documents but scored {field.n_scored}")


def combine(
    candidates: Candidates,
    normalised: F64,
    weights: F64,
    ceiling: F64,
    populations: tuple[Mapping[str, float], ...],
    about: Mapping[str, Any],
    tie_break: F64 | None = None,
    scale: F64 | None = None,
    reward: F64 | None = None,
    covered: F64 | None = None,
    reward_ceiling: float = 0.0,
) -> Fused:
    """Weigh, add from left to right, sort; ties by `tie_break`, then in document order.

    `ceiling` holds, for each field, what the normalised score of a document outside the candidates cannot exceed;
    `scale`, for each document, what the weights are multiplied by; `reward` what is added to the share of the field
    of words for the shares `covered`, and `reward_ceiling` what a document outside could get of it.
    """
    shares = normalised * (weights if scale is None else weights * scale[:, None])
    if reward is not None:
        shares[:, candidates.lexical] += reward
    scores = np.zeros(len(candidates), np.float64)
    outside = reward_ceiling
    for i in range(len(weights)):
        scores += shares[:, i]
        outside += float(weights[i]) * float(ceiling[i]) if weights[i] else 0.0
    keys = (candidates.docs, -scores) if tie_break is None else (candidates.docs, -tie_break, -scores)
    order = np.lexsort(keys)
    best = scores[order]
    # a margin for the rounding of a few additions; a tie with a document outside is not a proof either
    proved = int(np.count_nonzero(best > outside + 1e-12 * (abs(outside) + 1.0)))
    return Fused(
        candidates.names, candidates.docs[order], best, candidates.scores[order], normalised[order],
        candidates.ranks[order], shares[order], weights, proved, populations, about,
        _rows(scale, order), _rows(reward, order), _rows(covered, order), candidates.lexical,
    )  # fmt: skip


def weights_of(candidates: Candidates, given: Mapping[str, float]) -> F64:
    """One weight for each field, 1 where none was given; names that no field has are an error."""
    unknown = [name for name in given if name not in candidates.names]
    if unknown:
        raise InvalidInput(f"a weight for field {unknown[0]!r}, but the fields are: {', '.join(candidates.names)}")
    return np.array([given.get(name, 1.0) for name in candidates.names], np.float64)


def check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as plain floats, finite and not negative, at least one above 0."""
    if not isinstance(weights, Mapping):
        raise InvalidInput(f"weights must name the fields, such as {{'words': 1.0}}, not {shown(weights)}")
    out: dict[str, float] = {}
    for name, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
            raise InvalidInput(f"the weight of field {name!r} must be a number, not {shown(value)}")
        if not 0.0 <= value <= sys.float_info.max:
            raise InvalidInput(f"the weight of field {name!r} must be finite and at least 0, not {shown(value)}")
        out[str(name)] = float(value)
    if out and not any(out.values()):
        raise InvalidInput("all weights are 0: nothing would be ranked")
    return out
