"""Fused and reranked scores as trees, down into the explanations of the fields.

A field's node is worth its share of the fused score. Where the share is linear in the field's own score, the field's
terms
are shown in the same unit, each multiplied by weight / deviation, and the population's mean stands beside them with its
minus sign, multiplied alike. Every part is computed from its own numbers, so they add up to the share but for rounding;
a node of kind `correction` holds that, and with it the parts of every node add up to the last bit. Where more than
rounding is missing, the numbers do not belong together, and that is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.fuse.candidates import Fused
from zipfian.rerank.result import COARSE, Reranked
from zipfian.types import Explanation, NodeKind

ROUNDING = 1e-5
"""What an explanation may miss its score by, as a share of the size of its parts: an engine that scores in 32 bits
explains in 32 bits, too. With the float64 of a folder it is below 1e-12."""

SIGNAL_KINDS: Mapping[str, NodeKind] = {"dense": "cosine", "training-free": "signal", "late": "token"}
"""What the parts of a second stage's score are, by reranker."""


def explain_fused(fused: Fused, doc: int, fields: Mapping[str, Explanation] | None = None) -> Explanation:
    """The score of one document: a node for each field.

    `fields` holds the fields' own explanations of the document, by name; a field without one is shown without terms.
    """
    row = _row(fused.docs.tolist(), doc)
    nodes = []
    for i, name in enumerate(fused.fields):
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
            details["instead"] = "nothing to read for this field: the others count for more"
        tree = (fields or {}).get(name)
        parts: tuple[Explanation, ...] = ()
        if tree is not None:
            parts = _share(tree, name, share, _factor(fused, row, i, raw), numbers, _reward(fused, row, i))
            details |= tree.details
        label = name if tree is None else tree.label
        nodes.append(Explanation(share, label, parts, details, kind="field", field=name))
    label = f"fused: {_describe(fused.about)}"
    return Explanation(float(fused.scores[row]), label, tuple(nodes), {"rank": row + 1}, kind="fusion")


def explain_reranked(
    reranked: Reranked, doc: int, coarse: Explanation | None = None, fields: Sequence[str | None] = ()
) -> Explanation:
    """The score of one document after reranking: a node for each signal, or the first stage's tree beyond K.

    Where the document was refined, the first stage's tree is not part of the sum; its score and rank are named.
    `fields` names, for each signal, the field that it comes from.
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
        parts = _closed([coarse or Explanation(score, "first stage")], score, "the first stage's explanation")
        return Explanation(score, "beyond the reranked candidates: first stage", parts, details, kind="rerank")
    nodes = []
    kind = SIGNAL_KINDS.get(str(reranked.about.get("rerank")), "signal")
    places = reranked.about.get("places", {}).get(doc)
    for i, name in enumerate(reranked.names):
        signal, weight = float(reranked.signals[row, i]), float(reranked.weights[row, i])
        if name == COARSE or math.isnan(signal):
            continue
        evidence = ({"token": places[i]},) if places and places[i] >= 0 else ()
        numbers = {"signal": signal, "weight": weight}
        field = fields[i] if fields else None
        nodes.append(Explanation(float(reranked.parts[row, i]), name, (), numbers, evidence, kind, field))
    label = f"reranked: {reranked.about.get('rerank', '')}"
    return Explanation(score, label, tuple(nodes), details, kind="rerank")


def _factor(fused: Fused, row: int, i: int, raw: float) -> float | None:
    """What one unit of the field's own score is worth in the fused one; None where the two are not linear."""
    if fused.about.get("method") == "rrf" or math.isnan(raw):
        return None
    numbers = fused.populations[i] if fused.populations else {}
    unit = numbers["high"] - numbers["low"] if "high" in numbers else numbers.get("deviation", 1.0)
    return _weight(fused, row, i) / unit if unit > 0.0 else None


def _weight(fused: Fused, row: int, i: int) -> float:
    """Of a field, for one document."""
    return float(fused.weights[i]) * (1.0 if fused.scale is None else float(fused.scale[row]))


def _reward(fused: Fused, row: int, i: int) -> list[Explanation]:
    """What a document got for the words that it has, as a part of the field of words."""
    if fused.reward is None or fused.covered is None or i != fused.lexical or not fused.reward[row]:
        return []
    share = float(fused.covered[row])
    has = "has every word asked for" if share > 0.999 else f"has {share:.0%} of what the words asked for weigh"
    label = f"{has}, which the others have not"
    return [
        Explanation(float(fused.reward[row]), label, (), {"covered": share}, kind="coverage", field=fused.fields[i])
    ]


def _share(
    tree: Explanation, name: str, share: float, factor: float | None, numbers: Mapping[str, float],
    reward: Sequence[Explanation],
) -> tuple[Explanation, ...]:  # fmt: skip
    """The field's parts in the fused unit, less the point that its scores are counted from."""
    if factor is None or not factor:
        return ()
    whole = () if tree.parts or tree.kind == "field" else (replace(tree, label="score"),)  # vectors have no terms
    parts = [_scaled(part, factor) for part in (*tree.parts, *whole)]
    parts += [*_baseline(name, factor, numbers), *reward]
    return _closed(parts, share, f"the explanation of field {name!r}")


def _scaled(tree: Explanation, factor: float) -> Explanation:
    parts = tuple(_scaled(part, factor) for part in tree.parts)
    value = _sum(parts) if parts else tree.value * factor
    return replace(tree, value=value, parts=parts, details={**tree.details, "raw": tree.value})


def _baseline(name: str, factor: float, numbers: Mapping[str, float]) -> list[Explanation]:
    """What a normalised score is counted from, with its minus sign; nothing where that is 0."""
    if "mean" in numbers:
        zero, label = numbers["mean"], "less what its best documents score on average"
    else:
        zero, label = numbers.get("low", 0.0), "less what the last of its best documents scores"
    return [Explanation(-zero * factor, label, kind="baseline", field=name)] if zero else []


def _closed(parts: Sequence[Explanation], target: float, what: str) -> tuple[Explanation, ...]:
    """Parts that come to the target but for rounding, and what takes that out."""
    nodes, total = list(parts), _sum(parts)
    if abs(target - total) > ROUNDING * sum(abs(part.value) for part in parts):
        raise InvalidInput(
            f"{what} comes to {total!r}, but its score is {target!r}: explain what the same search found"
        )
    for _ in range(3):  # the difference of two floats may itself be rounded
        if total == target:
            break
        nodes.append(Explanation(target - total, "rounding", kind="correction"))
        total += target - total
    return tuple(nodes)


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
