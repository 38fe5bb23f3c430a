"""A leg's score, term by term, down to where each term stands in the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zipfian.limits import MAX_EVIDENCE
from zipfian.retrieve.scoring import BM25, Scoring, TfIdf
from zipfian.retrieve.searcher import LegSearcher, Query
from zipfian.retrieve.statistics import Term
from zipfian.types import Explanation

Evidence = Callable[[Mapping[Term, float]], tuple[Mapping[Term, Sequence[Mapping[str, Any]]], str]]
"""Where terms, given with their stored weights, stand in the document: spans of a text or patches of an image; and a
note where that cannot be told."""

Labels = Callable[[Term], str]
"""What to call a term."""

Asked = Callable[[list[Term]], Mapping[Term, Sequence[str]]]
"""Which words of the query brought a term in, where terms are not words themselves."""


def explain_leg(
    searcher: LegSearcher, query: Query, doc: int, evidence: Evidence | None = None, labels: Labels | None = None,
    asked: Asked | None = None,
) -> Explanation:  # fmt: skip
    """The score of one document in one leg. The parts, added in order, give it to the last bit."""
    parts, tf = searcher.contributions(query, doc)
    matched = [j for j in range(len(query.terms)) if tf[j] > 0.0]
    places, note = evidence({query.terms[j]: float(tf[j]) for j in matched}) if evidence else ({}, "")
    words = asked([query.terms[j] for j in matched]) if asked else {}
    norm = float(searcher.norms(query.scoring)[doc]) if len(query.terms) else 0.0
    stats = searcher.statistics(str(query.scoring.phi))
    nodes: list[Explanation] = []
    total = 0.0
    for j in matched:
        total += float(parts[j])
        details: dict[str, Any] = {
            "tf": float(tf[j]),
            "df": int(query.df[j]),
            "idf": float(query.idf[j]),
            "query_weight": float(query.given[j]),
            "norm": norm,
        }
        term = query.terms[j]
        if labels is not None:
            details["term"] = term
        if term in words:
            details["from"] = ", ".join(words[term])
        found = places.get(term, ())
        if len(found) > MAX_EVIDENCE:
            details["more_places"] = len(found) - MAX_EVIDENCE
        label = str(term) if labels is None else labels(term)
        nodes.append(Explanation(float(parts[j]), label, (), details, tuple(found[:MAX_EVIDENCE])))
    about: dict[str, Any] = {"N": stats.n_live}
    if note:
        about["note"] = note
    if isinstance(query.scoring, BM25):
        about["length"] = int(stats.lengths[0][doc]) * stats.unit
        about["mean_length"] = stats.mean_length * stats.unit
    return Explanation(total, f"{searcher.name}: {describe(query.scoring)}", tuple(nodes), about)


def compare(a: Explanation, b: Explanation, id_a: str, id_b: str) -> Explanation:
    """Which terms put A above B: for each term the difference of its contributions, largest first."""
    left = {_key(part): part.value for part in a.parts}
    right = {_key(part): part.value for part in b.parts}
    rows = [(left.get(t, 0.0) - right.get(t, 0.0), t) for t in dict.fromkeys([*left, *right])]
    rows.sort(key=lambda row: (-abs(row[0]), row[1]))
    nodes = tuple(
        Explanation(diff, term[0], (), {id_a: left.get(term, 0.0), id_b: right.get(term, 0.0)}) for diff, term in rows
    )
    if a.value == b.value:
        label = f"{id_a!r} and {id_b!r} score the same"
    else:
        first, second = (id_a, id_b) if a.value > b.value else (id_b, id_a)
        label = f"{first!r} scores above {second!r}"
    return Explanation(sum(node.value for node in nodes), label, nodes, {id_a: a.value, id_b: b.value})


def _key(part: Explanation) -> tuple[str, str]:
    """Two latent terms may bear the same label."""
    return part.label, str(part.details.get("term", ""))


def describe(scoring: Scoring) -> str:
    """A formula in one line."""
    phi = "" if scoring.phi == "identity" else f", phi={scoring.phi}"
    if isinstance(scoring, BM25):
        variant = "" if scoring.variant == "zipfian" else f", {scoring.variant}"
        return f"BM25(k1={scoring.k1:g}, b={scoring.b:g}{variant}{phi})"
    return f"{'TfIdf' if isinstance(scoring, TfIdf) else 'Dot'}({phi.removeprefix(', ')})"
