"""Terms of a query that a caller mutes or boosts: factors of their weights, field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.limits import MAX_FIELDS, MAX_QUERY_TERMS, MAX_QUERY_WEIGHT

if TYPE_CHECKING:
    from zipfian.fields.base import Field

Factors = Mapping[str, Mapping[str, float]]
"""By field, then by term as text: words as they are indexed, numbers of other terms."""

Key = TypeVar("Key", str, int)


def check_adjust(given: Any) -> Factors:
    """What a caller wrote, `{field: {term: factor}}`, as factors; nothing where nothing was given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(factors, Mapping) for factors in given.values()):
        raise InvalidInput(
            f"adjust is {{field: {{term: factor}}}}, such as {{'words': {{'food': 0}}}}, not {shown(given)}"
        )
    if len(given) > MAX_FIELDS or any(len(factors) > MAX_QUERY_TERMS for factors in given.values()):
        raise LimitExceeded(f"adjust is for {MAX_FIELDS} fields and {MAX_QUERY_TERMS} terms of each at most")
    for name, factors in given.items():
        for term, factor in factors.items():
            number = isinstance(factor, int | float) and not isinstance(factor, bool)
            if not number or not math.isfinite(factor) or not 0.0 <= factor <= MAX_QUERY_WEIGHT:
                raise InvalidInput(
                    f"adjust: term {shown(term)} of field {shown(name)} has the factor {shown(factor)}; a factor is a "
                    f"number from 0, which mutes the term, to {MAX_QUERY_WEIGHT:g}"
                )
    return {
        str(name): {str(term): float(factor) for term, factor in factors.items()} for name, factors in given.items()
    }


def check_adjusted(factors: Factors, fields: Mapping[str, Field]) -> None:
    """Only fields that have terms can be adjusted."""
    for name in factors:
        if name not in fields or fields[name].has_vectors:
            able = ", ".join(n for n, field in fields.items() if not field.has_vectors)
            raise InvalidInput(f"adjust: {shown(name)} is no field with terms; those are {able or 'none here'}")


def adjusted(weights: Mapping[Key, float], factors: Mapping[str, float]) -> dict[Key, float]:
    """The weights times their factors; a term with the factor 0 is not asked for."""
    if not factors:
        return dict(weights)
    out = {term: weight * factors.get(str(term), 1.0) for term, weight in weights.items()}
    return {term: min(weight, MAX_QUERY_WEIGHT) for term, weight in out.items() if weight > 0.0}
