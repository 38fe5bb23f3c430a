"""What goes into a fusion, and the sum that comes out of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.ranking import F64, Fusion, Ints, Ranking, Voice

Score = Callable[[int, Ints], F64]
"""`score(i, docs)`: exact scores of documents (ascending) in the i-th field; NaN where it can have none."""

Cover = Callable[[Ints], F64]
"""`cover(docs)`: the share of the query's words, by idf, that each of some documents (ascending) has, 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The union of what the fields found, in document order, with the exact score of every document in every field.

    Examples
    --------
    >>> a = Ranking.of("a", np.array([7]), np.array([4.0]), n_scored=9)
    >>> b = Ranking.of("b", np.array([3]), np.array([0.9]), n_scored=9)
    >>> candidates = gather([a, b], lambda i, docs: np.full(len(docs), 0.5))
    >>> candidates.names, candidates.docs.tolist()
    (('a', 'b'), [3, 7])
    """

    names: tuple[str, ...]
    """The fields'."""
    fields: tuple[Ranking, ...]
    """What each field found."""
    voices: tuple[Voice, ...]
    """What each field counts."""
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
    def best(self) -> tuple[F64, ...]:
        """The two best scores of each field's list."""
        return tuple(field.scores[:2] for field in self.fields)


def gather(
    fields: Sequence[Ranking], score: Score, also: Ints | None = None,
    covered: tuple[int, Cover] | None = None,
) -> Candidates:  # fmt: skip
    """The union of the fields' lists; whoever missed a field's list gets its exact score from that field all the same.

    Parameters
    ----------
    fields
        What each field found, at least one; every field once, and made with `n_scored`.
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
    >>> a = Ranking.of("a", np.array([7]), np.array([4.0]), n_scored=9)
    >>> b = Ranking.of("b", np.array([3]), np.array([0.9]), n_scored=9)
    >>> gather([a, b], lambda i, docs: np.full(len(docs), 0.5)).scores.tolist()
    [[0.5, 0.9], [4.0, 0.5]]
    """
    if not fields:
        raise InvalidInput("a fusion needs at least one field")
    names = tuple(field.fields[0] for field in fields)
    if len(set(names)) != len(names):
        raise InvalidInput(f"every field is fused once: {', '.join(names)}")
    docs = np.unique(
        np.concatenate([np.asarray(field.docs, np.int64) for field in fields] + ([] if also is None else [also]))
    )
    scores = np.empty((len(docs), len(fields)), np.float64)
    ranks = np.zeros((len(docs), len(fields)), np.int64)
    voices = tuple(map(_checked, fields))
    for i, field in enumerate(fields):
        at = np.searchsorted(docs, field.docs)
        scores[at, i] = field.scores
        ranks[at, i] = np.arange(1, len(field.docs) + 1)
        missing = np.flatnonzero(ranks[:, i] == 0)
        if len(missing):
            found = np.asarray(score(i, docs[missing]), np.float64)
            if found.shape != missing.shape or np.isinf(found).any():
                raise InvalidInput(f"field {names[i]!r} gave no usable scores for {len(missing)} candidates")
            scores[missing, i] = found
    place, cover = covered or (0, None)
    return Candidates(names, tuple(fields), voices, docs, scores, ranks, cover, place)


def _checked(field: Ranking) -> Voice:
    """What a list says of its field, if it can be fused."""
    name, voice = field.fields[0], field.voice
    if voice is None:
        raise InvalidInput(f"the list of field {name!r} cannot be fused: make it with n_scored=")
    if field.docs.shape != field.scores.shape or field.docs.ndim != 1:
        raise InvalidInput(f"field {name!r}: {field.docs.shape} documents but {field.scores.shape} scores")
    if not np.isfinite(field.scores).all():
        raise InvalidInput(f"field {name!r} holds scores that are NaN or infinite")
    if len(field.scores) > 1 and np.any(np.diff(field.scores) > 0):
        raise InvalidInput(f"field {name!r}: the list must be in descending order of scores")
    if voice.n_scored < len(field.docs):
        raise InvalidInput(f"field {name!r} lists {len(field.docs)} documents but scored {voice.n_scored}")
    return voice


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
) -> Ranking:
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
    scale, reward, covered = (None if a is None else a[order] for a in (scale, reward, covered))
    fusion = Fusion(weights, proved, populations, about, scale, reward, covered, candidates.lexical)
    return Ranking(
        candidates.docs[order], best, candidates.names, candidates.scores[order], candidates.ranks[order],
        shares[order], normalised[order], fusion=fusion,
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
