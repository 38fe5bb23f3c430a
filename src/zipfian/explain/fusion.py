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
from zipfian.fuse.ranking import Fusion, Ranking
from zipfian.rerank.result import COARSE
from zipfian.types import Explanation, NodeKind

ROUNDING = 1e-5
"""What an explanation may miss its score by, as a share of the size of its parts: an engine that scores in 32 bits
explains in 32 bits, too. With the float64 of a folder it is below 1e-12."""

SIGNAL_KINDS: Mapping[str, NodeKind] = {"dense": "cosine", "training-free": "signal", "late": "token"}
"""What the parts of a second stage's score are, by reranker."""


def explain_fused(ranking: Ranking, doc: int, fields: Mapping[str, Explanation] | None = None) -> Explanation:
    """The score of one document in a fused ranking: a node for each field.

    `fields` holds the fields' own explanations of the document, by name; a field without one is shown without terms.
    """
    row, fusion = _row(ranking, doc), ranking.fusion
    if fusion is None or ranking.normalised is None:
        raise InvalidInput(f"the ranking of {', '.join(ranking.fields)} was not fused: explain it by its field")
    nodes = []
    for i, name in enumerate(ranking.fields):
        numbers = dict(fusion.populations[i]) if fusion.populations else {}
        raw, share = float(ranking.raw[row, i]), float(ranking.shares[row, i])
        details: dict[str, Any] = {
            "raw": None if math.isnan(raw) else raw,
            **numbers,
            "normalised": float(ranking.normalised[row, i]),
            "weight": _weight(fusion, row, i),
            "rank": int(ranking.ranks[row, i]) or None,
        }
        if math.isnan(raw) and fusion.scale is not None:
            details["instead"] = "nothing to read for this field: the others count for more"
        tree = (fields or {}).get(name)
        parts: tuple[Explanation, ...] = ()
        if tree is not None:
            parts = _share(tree, name, share, _factor(fusion, row, i, raw), numbers, _reward(fusion, row, i, name))
            details |= tree.details
        label = name if tree is None else tree.label
        nodes.append(Explanation(share, label, parts, details, kind="field", field=name))
    label = f"fused: {_describe(fusion.about)}"
    return Explanation(float(ranking.scores[row]), label, tuple(nodes), {"rank": row + 1}, kind="fusion")


def explain_reranked(ranking: Ranking, doc: int, coarse: Explanation | None = None) -> Explanation:
    """The score of one document after reranking: a node for each signal, or the first stage's tree beyond K.

    Where the document was refined, the first stage's tree is not part of the sum; its score and rank are named.
    """
    row, found = _row(ranking, doc), ranking.reranking
    if found is None or ranking.before is None:
        raise InvalidInput(f"the ranking of {', '.join(ranking.fields)} was not reranked")
    old_rank = int(found.old_ranks[row])
    details = {
        "rank": row + 1,
        "old_rank": old_rank,
        "old_score": float(ranking.before.scores[old_rank - 1]),
        **{k: v for k, v in found.about.items() if k != "places"},
    }
    score = float(ranking.scores[row])
    if row >= found.refined:
        parts = closed([coarse or Explanation(score, "first stage")], score, "the first stage's explanation")
        return Explanation(score, "beyond the reranked candidates: first stage", parts, details, kind="rerank")
    nodes = []
    kind = SIGNAL_KINDS.get(str(found.about.get("rerank")), "signal")
    places = found.about.get("places", {}).get(doc)
    for i, name in enumerate(found.names):
        signal, weight = float(found.signals[row, i]), float(found.weights[row, i])
        if name == COARSE or math.isnan(signal):
            continue
        evidence = ({"token": places[i]},) if places and places[i] >= 0 else ()
        numbers = {"signal": signal, "weight": weight}
        nodes.append(Explanation(float(found.parts[row, i]), name, (), numbers, evidence, kind, found.fields[i]))
    label = f"reranked: {found.about.get('rerank', '')}"
    return Explanation(score, label, tuple(nodes), details, kind="rerank")


def _factor(fusion: Fusion, row: int, i: int, raw: float) -> float | None:
    """What one unit of the field's own score is worth in the fused one; None where the two are not linear."""
    if fusion.about.get("method") == "rrf" or fusion.about.get("together") or math.isnan(raw):
        return None
    numbers = fusion.populations[i] if fusion.populations else {}
    unit = numbers["high"] - numbers["low"] if "high" in numbers else numbers.get("deviation", 1.0)
    return _weight(fusion, row, i) / unit if unit > 0.0 else None


def _weight(fusion: Fusion, row: int, i: int) -> float:
    """Of a field, for one document."""
    return float(fusion.weights[i]) * (1.0 if fusion.scale is None else float(fusion.scale[row]))


def _reward(fusion: Fusion, row: int, i: int, name: str) -> list[Explanation]:
    """What a document got for the words that it has, as a part of the field of words."""
    if fusion.reward is None or fusion.covered is None or i != fusion.lexical or not fusion.reward[row]:
        return []
    share = float(fusion.covered[row])
    has = "has every word asked for" if share > 0.999 else f"has {share:.0%} of what the words asked for weigh"
    label = f"{has}, which the others have not"
    return [Explanation(float(fusion.reward[row]), label, (), {"covered": share}, kind="coverage", field=name)]


def _share(
    tree: Explanation, name: str, share: float, factor: float | None, numbers: Mapping[str, float],
    reward: Sequence[Explanation],
) -> tuple[Explanation, ...]:  # fmt: skip
    """The field's parts in the fused unit, less the point that its scores are counted from."""
    if factor is None or not factor:
        return ()
    whole = tree.kind == "cosine" or not (tree.parts or tree.kind == "field")  # vectors have no terms
    parts = [_scaled(part, factor) for part in ((replace(tree, label="score"),) if whole else tree.parts)]
    parts += [*_baseline(name, factor, numbers), *reward]
    return closed(parts, share, f"the explanation of field {name!r}")


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


def closed(parts: Sequence[Explanation], target: float, what: str) -> tuple[Explanation, ...]:
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


def _row(ranking: Ranking, doc: int) -> int:
    if doc not in ranking.rows:
        raise InvalidInput(f"document {doc} is not among the {len(ranking)} hits to explain")
    return ranking.rows[doc]


def _describe(about: Mapping[str, Any]) -> str:
    method = str(about.get("method", ""))
    if method == "rrf":
        return f"reciprocal ranks, k={about['k']:g}"
    if method == "linear":
        return f"weighted sum, {about['normalise']} normalisation"
    return f"{method}, as every field agrees" if about.get("together") else method
