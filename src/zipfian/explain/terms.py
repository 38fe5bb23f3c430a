"""A field's score, term by term, down to where each term stands in the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zipfian.limits import MAX_EVIDENCE
from zipfian.retrieve.scoring import BM25, Scoring, TfIdf
from zipfian.retrieve.searcher import FieldSearcher, TermQuery
from zipfian.retrieve.statistics import Term
from zipfian.types import Explanation

Evidence = Callable[[Mapping[Term, float]], tuple[Mapping[Term, Sequence[Mapping[str, Any]]], str]]
"""Where terms, given with their stored weights, stand in the document: spans of a text or patches of an image; and a
note where that cannot be told."""

Labels = Callable[[Term], str]
"""What to call a term."""

Asked = Callable[[list[Term]], Mapping[Term, Sequence[str]]]
"""Which words of the query brought a term in, where terms are not words themselves."""


def explain_field(
    searcher: FieldSearcher, query: TermQuery, doc: int, evidence: Evidence | None = None, labels: Labels | None = None,
    asked: Asked | None = None,
) -> Explanation:  # fmt: skip
    """The score of one document in one field. The parts, added in order, give it to the last bit."""
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
        shown = tuple(found[:MAX_EVIDENCE])
        nodes.append(Explanation(float(parts[j]), label, (), details, shown, "term", searcher.name, term))
    about: dict[str, Any] = {"N": stats.n_live}
    if note:
        about["note"] = note
    if isinstance(query.scoring, BM25):
        about["length"] = int(stats.lengths[0][doc]) * stats.unit
        about["mean_length"] = stats.mean_length * stats.unit
    label = f"{searcher.name}: {describe(query.scoring)}"
    return Explanation(total, label, tuple(nodes), about, kind="field", field=searcher.name)


def compare(a: Explanation, b: Explanation, id_a: str, id_b: str) -> Explanation:
    """Which terms put A above B: for each term the difference of its contributions, largest first."""
    left, right = _values(a), _values(b)
    nodes = []
    for key, part in {_key(part): part for part in (*b.parts, *a.parts)}.items():
        values = {id_a: left.get(key, 0.0), id_b: right.get(key, 0.0)}
        diff = left.get(key, 0.0) - right.get(key, 0.0)
        nodes.append(Explanation(diff, part.label, (), values, (), part.kind, part.field, part.term))
    nodes.sort(key=lambda node: (-abs(node.value), node.label, str(node.term)))
    if a.value == b.value:
        label = f"{id_a!r} and {id_b!r} score the same"
    else:
        first, second = (id_a, id_b) if a.value > b.value else (id_b, id_a)
        label = f"{first!r} scores above {second!r}"
    total = sum(node.value for node in nodes)
    return Explanation(total, label, tuple(nodes), {id_a: a.value, id_b: b.value}, kind="difference")


def _values(tree: Explanation) -> dict[tuple[object, ...], float]:
    """What each part gave; a token that the query repeats gave what its parts gave together."""
    out: dict[tuple[object, ...], float] = {}
    for part in tree.parts:
        out[_key(part)] = out.get(_key(part), 0.0) + part.value
    return out


def _key(part: Explanation) -> tuple[object, ...]:
    """What makes two parts of different trees the same one; a part without a term goes by its name."""
    return part.kind, part.field, part.label if part.term is None else part.term


def describe(scoring: Scoring) -> str:
    """A formula in one line."""
    phi = "" if scoring.phi == "identity" else f", phi={scoring.phi}"
    if isinstance(scoring, BM25):
        variant = "" if scoring.variant == "zipfian" else f", {scoring.variant}"
        return f"BM25(k1={scoring.k1:g}, b={scoring.b:g}{variant}{phi})"
    return f"{'TfIdf' if isinstance(scoring, TfIdf) else 'Dot'}({phi.removeprefix(', ')})"
