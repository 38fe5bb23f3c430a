"""Why a document was found, in a few words: the parts of its score that a person should read, strongest first.

One rule for the command line, notebooks and whoever else names reasons: what brought less than `LEAST_SHARE` of all
that speaks for the document is no reason for it, and neither are corrections of rounding and the points that fields
count from. Parts that would be called the same, such as all visual words that one word stands for, are one reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.types import LEAST_SHARE, Explanation


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a score in words: what it brought, and where it was found."""

    label: str
    value: float
    share: float
    """Of all that speaks for the document, 0 to 1."""
    field: str | None
    term: str | int | None = None
    """None also where several terms are one reason."""
    places: tuple[Mapping[str, Any], ...] = ()

    def __str__(self) -> str:
        where = f" {position(self.places[0])}" if self.places and "row" in self.places[0] else ""
        return f"{self.label}{where}"


def reasons_of(tree: Explanation, least: float = LEAST_SHARE) -> list[Reason]:
    """The parts that brought at least that share, most first. Where all are smaller, one reason says so."""
    whole = tree.support
    if whole <= 0.0:
        return []
    grouped: dict[tuple[str | None, str], list[Explanation]] = {}
    for leaf in _leaves(tree):
        grouped.setdefault((leaf.field, said(leaf)), []).append(leaf)
    found = [_reason(label, field, parts, whole) for (field, label), parts in grouped.items()]
    strong = sorted((one for one in found if one.share >= least), key=lambda reason: -reason.value)
    if strong or not found:
        return strong
    return [Reason(f"{len(found):,} small parts, none of which brought {least:.0%}", whole, 1.0, None)]


def _reason(label: str, field: str | None, parts: list[Explanation], whole: float) -> Reason:
    value = sum(part.value for part in parts)
    first = max(parts, key=lambda part: part.value)
    return Reason(label, value, value / whole, field, first.term if len(parts) == 1 else None, _places(first))


def _leaves(node: Explanation) -> Iterator[Explanation]:
    if node.parts and node.kind != "cosine":
        for part in node.reasons:
            yield from _leaves(part)
    elif node.value > 0 and node.kind != "baseline":
        yield node


def _places(leaf: Explanation) -> tuple[Mapping[str, Any], ...]:
    """Where a part was found; of a likeness, the patches that speak for it."""
    if leaf.kind != "cosine":
        return leaf.evidence
    return next((part.evidence for part in leaf.parts if part.kind == "patches"), ())


def said(node: Explanation) -> str:
    """A part in words."""
    if node.kind == "cosine":  # within a fusion or a second stage, the value is no longer the cosine itself
        cosine = node.details.get("signal", node.details.get("raw", node.value))
        return f"alike as a whole (cosine {cosine:.3f})" + (", strongest" if _places(node) else "")
    if node.kind == "field" and node.details.get("rank"):  # fused by ranks: no term has a value of its own
        return f"{ordinal(node.details['rank'])} in its list"
    return node.label


def position(place: Mapping[str, Any]) -> str:
    """Where a patch is, in words: (top left), (middle) and so on."""
    row, column, rows, columns = (int(place[key]) for key in ("row", "column", "rows", "columns"))
    down = ("top", "middle", "bottom")[min(2, 3 * row // max(1, rows))]
    across = ("left", "centre", "right")[min(2, 3 * column // max(1, columns))]
    spot = "middle" if (down, across) == ("middle", "centre") else f"{down} {across}"
    return f"({spot}: row {row + 1}, column {column + 1} of {rows} x {columns})"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"
