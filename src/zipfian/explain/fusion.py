"""Fused and reranked scores as trees, down into the explanations of the legs.

A leg's node is worth its share of the fused score. Where the share is linear in the leg's own score, the leg's terms
are shown in the same unit, each multiplied by weight / deviation, and the population's mean stands beside them with its
minus sign: so the parts of every node still add up to it, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.fuse.candidates import Fused
from zipfian.rerank.result import COARSE, Reranked
from zipfian.types import Explanation


def explain_fused(fused: Fused, doc: int, legs: Mapping[str, Explanation] | None = None) -> Explanation:
    """The score of one document: a node for each leg.

    `legs` holds the legs' own explanations of the document, by name; a leg without one is shown without terms.
    """
    row = _row(fused.docs.tolist(), doc)
    nodes = []
    for i, name in enumerate(fused.legs):
        numbers = dict(fused.populations[i]) if fused.populations else {}
        raw, share = float(fused.raw[row, i]), float(fused.shares[row, i])
        details: dict[str, Any] = {
            "raw": None if math.isnan(raw) else raw,
            **numbers,
            "normalised": float(fused.normalised[row, i]),
            "weight": _weight(fused, row, i),
            "rank": int(fused.ranks[row, i]) or None,
        }
        if math.isnan(raw) and fused.scale is not None:
            details["instead"] = "nothing to read for this leg: the others count for more"
        tree = (legs or {}).get(name)
        parts = (
            _scaled_parts(tree, share, _factor(fused, row, i, raw), _zero_point(numbers)) if tree is not None else ()
        )
        label = name if tree is None else tree.label
        nodes.append(Explanation(share, label, parts, details | dict(tree.details if tree else {})))
    return Explanation(float(fused.scores[row]), f"fused: {_describe(fused.about)}", tuple(nodes), {"rank": row + 1})


def explain_reranked(reranked: Reranked, doc: int, coarse: Explanation | None = None) -> Explanation:
    """The score of one document after reranking: a node for each signal, or the first stage's tree beyond K.

    Where the document was refined, the first stage's tree is not part of the sum; its score and rank are named.
    """
    row = _row(reranked.docs.tolist(), doc)
    details = {
        "rank": row + 1,
        "old_rank": int(reranked.old_ranks[row]),
        "old_score": float(reranked.coarse[row]),
        **{k: v for k, v in reranked.about.items() if k != "places"},
    }
    score = float(reranked.scores[row])
    if row >= reranked.refined:
        part = coarse or Explanation(score, "first stage")
        if part.value != score:
            raise InvalidInput(f"the first stage's explanation is worth {part.value!r}, its score was {score!r}")
        return Explanation(score, "beyond the reranked candidates: first stage", (part,), details)
    nodes = []
    places = reranked.about.get("places", {}).get(doc)
    for i, name in enumerate(reranked.names):
        signal, weight = float(reranked.signals[row, i]), float(reranked.weights[row, i])
        if name == COARSE or math.isnan(signal):
            continue
        evidence = ({"token": places[i]},) if places and places[i] >= 0 else ()
        nodes.append(
            Explanation(float(reranked.parts[row, i]), name, (), {"signal": signal, "weight": weight}, evidence)
        )
    return Explanation(score, f"reranked: {reranked.about.get('rerank', '')}", tuple(nodes), details)


def _factor(fused: Fused, row: int, i: int, raw: float) -> float | None:
    """What one unit of the leg's own score is worth in the fused one; None where the two are not linear."""
    if fused.about.get("method") == "rrf" or math.isnan(raw):
        return None
    numbers = fused.populations[i] if fused.populations else {}
    unit = numbers["high"] - numbers["low"] if "high" in numbers else numbers.get("deviation", 1.0)
    return _weight(fused, row, i) / unit if unit > 0.0 else None


def _weight(fused: Fused, row: int, i: int) -> float:
    """Of a leg, for one document."""
    return float(fused.weights[i]) * (1.0 if fused.scale is None else float(fused.scale[row]))


def _scaled_parts(tree: Explanation, share: float, factor: float | None, zero: str) -> tuple[Explanation, ...]:
    """The leg's parts in the fused unit, and what is missing to the share: the population's mean (or low end)."""
    if factor is None or not factor:
        return ()
    parts = [_scaled(part, factor) for part in tree.parts] or [Explanation(tree.value * factor, "score")]
    parts += _closing(_sum(parts), share, zero)
    return tuple(parts)


def _scaled(tree: Explanation, factor: float) -> Explanation:
    parts = tuple(_scaled(part, factor) for part in tree.parts)
    value = _sum(parts) if parts else tree.value * factor
    return Explanation(value, tree.label, parts, {**tree.details, "raw": tree.value}, tree.evidence)


def _zero_point(numbers: Mapping[str, float]) -> str:
    """What a normalised score is counted from."""
    if "mean" in numbers:
        return "less what its best documents score on average"
    return "less what the last of its best documents scores" if "low" in numbers else "rounding"


def _closing(total: float, target: float, zero: str) -> list[Explanation]:
    """Nodes that lead from a running total to the target exactly, whatever floating point does on the way."""
    nodes: list[Explanation] = []
    for label in (zero, "rounding", "rounding"):
        if total == target:
            break
        nodes.append(Explanation(target - total, label))
        total += target - total
    return nodes


def _sum(parts: Sequence[Explanation]) -> float:
    total = 0.0
    for part in parts:
        total += part.value
    return total


def _row(docs: list[int], doc: int) -> int:
    try:
        return docs.index(doc)
    except ValueError:
        raise InvalidInput(f"document {doc} is not among the {len(docs)} hits to explain") from None


def _describe(about: Mapping[str, Any]) -> str:
    method = str(about.get("method", ""))
    if method == "rrf":
        return f"reciprocal ranks, k={about['k']:g}"
    if method == "linear":
        return f"weighted sum, {about['normalise']} normalisation"
    return method
