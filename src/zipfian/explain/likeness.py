"""A cosine over the patches of a picture: which speak for it, which against, and what lies in none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zipfian.explain.fusion import ROUNDING, closed
from zipfian.types import Explanation


def over_patches(
    value: float, places: Sequence[Mapping[str, Any]], rest: float, field: str
) -> tuple[Explanation, ...] | None:
    """The parts of a cosine, `value`, from what each patch gives to it (`strength`) and the `rest`.

    A part is worth the sum of its patches' strengths, and the parts sum to the value to the last bit. None where they
    come to something else: then the picture is not the one that the value is of.
    """
    above = sorted((place for place in places if place["strength"] > 0), key=lambda place: -place["strength"])
    below = sorted((place for place in places if place["strength"] < 0), key=lambda place: place["strength"])
    all_parts = [
        Explanation(_sum(above), "patches that are like the query", (), {}, tuple(above), "patches", field),
        Explanation(_sum(below), "patches that are unlike it", (), {}, tuple(below), "against", field),
        Explanation(rest, "whatever the picture shows", (), {}, (), "constant", field),
    ]
    told = [part for part in all_parts if part.value]
    size = sum(abs(part.value) for part in told)
    if abs(sum(part.value for part in told) - value) > ROUNDING * size:
        return None
    parts = closed(told, value, f"the likeness of field {field!r}")
    return tuple(replace(part, field=field) for part in parts)  # the heads work in 32 bits: their rounding is theirs


def _sum(places: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(place["strength"] for place in places))
