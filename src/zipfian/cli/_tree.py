"""An explanation for a person: every number, but only a few of the places where a term was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zipfian.cli._output import BOLD, DIM, paint, printable
from zipfian.cli._passage import one_line
from zipfian.explain.reasons import position
from zipfian.types import Explanation

PLACES = 3
"""Places shown for a term; JSON has them all."""
AROUND = 16
"""Characters of text shown on each side of a place."""


def tree_lines(node: Explanation, text: str | None = None, depth: int = 0) -> Iterator[str]:
    """The tree, indented, what counts most first; places are quoted from `text` where it is given."""
    details = ", ".join(f"{k}={_number(v)}" for k, v in node.details.items())
    label = printable(node.label)
    yield (
        f"{'  ' * depth}{node.value:8.4f}  {paint(label, BOLD) if depth else label}"
        + (paint(f"  {printable(details)}", DIM) if details else "")
    )
    if node.evidence:
        shown = ", ".join(_place(e, text) for e in node.evidence[:PLACES])
        more = len(node.evidence) - PLACES
        yield f"{'  ' * depth}{' ' * 10}{shown}" + (f" and {more:,} more" if more > 0 else "")
    for part in sorted(node.reasons, key=lambda part: -abs(part.value)):
        yield from tree_lines(part, text, depth + 1)


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _place(evidence: Mapping[str, Any], text: str | None) -> str:
    if "row" in evidence:
        strength = evidence.get("strength")
        return f"patch {position(evidence)}" + (f" {strength:.2f}" if isinstance(strength, float) else "")
    start, end = evidence.get("start"), evidence.get("end")
    if text is None or not isinstance(start, int) or not isinstance(end, int):
        return printable(", ".join(f"{k}={v!r}" for k, v in evidence.items()))
    left, right = max(0, start - AROUND), end + AROUND
    quoted = one_line(text[left:right]).strip()
    return f'"{"..." * (left > 0)}{quoted}{"..." * (right < len(text))}" at {start:,}'
