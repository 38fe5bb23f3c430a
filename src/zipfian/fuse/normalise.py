"""Scores of different fields on one scale.

The population is the same for every k: the field's own POOL best documents for this query under this filter, by exact
score. Where fewer documents share a term with the query, the others stand in it with their score, which is 0. A search
that asks for more than POOL hits looks at more candidates, but normalises by the same POOL; so the fused score of a
document depends on the query, the filter and the snapshot, and on nothing else.

    none     raw scores
    minmax   0 for the last of the population, 1 for the first; beyond it, below 0
    z        distance from the population's mean in standard deviations

A peaked field (few documents far above the rest) gets large z at the top, a flat one small: how decided a field is
enters
here already. A field whose population has no spread says nothing, and everything in it is 0. A document that a field
cannot score (no vector) counts as the last of the population.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from zipfian.errors import InvalidInput, shown
from zipfian.fuse.candidates import Candidates
from zipfian.fuse.ranking import F64, Ranking, Voice

Kind = Literal["none", "minmax", "z"]

POOL = 100
"""Documents of a field's population."""


def check_kind(kind: str) -> None:
    """One of the three kinds."""
    if kind not in get_args(Kind):
        raise InvalidInput(f"unknown normalisation {shown(kind)}; one of {', '.join(get_args(Kind))}")


def population(field: Ranking, voice: Voice, pool: int = POOL) -> F64:
    """The scores that a field's normalisation is made from, best first."""
    best = np.asarray(field.scores[:pool], np.float64)
    size = min(pool, voice.n_scored)
    return np.concatenate([best, np.zeros(max(0, size - len(best)))])


def constants(field: Ranking, voice: Voice, kind: Kind, pool: int = POOL) -> dict[str, float]:
    """(raw - shift) / unit is the normalised score; with the numbers that explain them."""
    scores = population(field, voice, pool)
    if kind == "none" or not len(scores):
        return {"shift": 0.0, "unit": 1.0, "last": 0.0}
    last = float(scores.min())
    if kind == "minmax":
        first = float(scores.max())
        return {"low": last, "high": first, "shift": last, "unit": first - last, "last": last}
    mean, deviation = float(scores.mean()), float(scores.std())
    if deviation <= 1e-12 * max(abs(mean), float(np.abs(scores).max())):  # rounding of equal scores is no spread
        deviation = 0.0
    return {"mean": mean, "deviation": deviation, "shift": mean, "unit": deviation, "last": last}


def normalise(candidates: Candidates, kind: Kind, pool: int = POOL) -> tuple[F64, F64, tuple[Mapping[str, float], ...]]:
    """(documents, fields) on one scale; what no document outside can exceed in each field; the constants used."""
    columns, ceiling, used = [], [], []
    for i, (field, voice) in enumerate(zip(candidates.fields, candidates.voices, strict=True)):
        numbers = constants(field, voice, kind, pool)
        raw = np.where(np.isnan(candidates.scores[:, i]), numbers["last"], candidates.scores[:, i])
        # whoever is outside the field's list scores at most like its end, or 0 where the list holds all that match
        complete = len(field.docs) >= voice.n_scored
        bound = numbers["last"] if complete else (float(field.scores[-1]) if len(field.scores) else 0.0)
        if kind == "none":
            columns.append(np.nan_to_num(candidates.scores[:, i], nan=0.0))
            ceiling.append(max(bound, 0.0))
        elif numbers["unit"] > 0.0:
            columns.append((raw - numbers["shift"]) / numbers["unit"])
            ceiling.append((max(bound, numbers["last"]) - numbers["shift"]) / numbers["unit"])
        else:
            columns.append(np.zeros(len(candidates)))
            ceiling.append(0.0)
        used.append({k: v for k, v in numbers.items() if k in ("mean", "deviation", "low", "high")})
    return np.stack(columns, axis=1), np.array(ceiling), tuple(used)
