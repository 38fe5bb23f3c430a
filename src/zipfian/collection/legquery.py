"""A question made ready for one leg of one snapshot: search it, score given documents, explain one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from zipfian.collection import evidence
from zipfian.collection.legs import Leg
from zipfian.collection.question import Question, Vector
from zipfian.collection.view import View
from zipfian.errors import InvalidInput
from zipfian.explain.highlight import Snippet, highlight
from zipfian.explain.terms import describe, explain_leg
from zipfian.fuse.signals import coverage
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.faiss_index import FaissIndex
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.searcher import LegSearcher, Query
from zipfian.retrieve.statistics import Term
from zipfian.types import Explanation

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class LegQuery(Protocol):
    """What fusion and reranking ask of any leg. A mask is what the leg's engine makes of a filter."""

    name: str
    leg: Leg
    n_asked: int
    """Different terms of the question; 0 where it is a vector."""

    def search(self, k: int, mask: Any) -> tuple[Ints, F64]:
        """The k best documents (numbers in the snapshot) and their exact scores, best first."""
        ...

    def score(self, docs: Ints) -> F64:
        """Exact scores of given documents."""
        ...

    def n_scored(self, mask: Any) -> int:
        """Documents that have a score in this leg, be it 0."""
        ...

    def coverage(self, best: float) -> float | None:
        """How much of what a words query asks for the best document has, 0 to 1; None where nobody can tell."""
        ...

    def explain(self, doc: int) -> Explanation:
        """One document's score as a tree."""
        ...

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        """The best passages of one document."""
        ...

    def settings(self) -> dict[str, Any]:
        """How it was asked, for reports."""
        ...


@runtime_checkable
class VectorQuery(LegQuery, Protocol):
    """A leg of vectors: it can judge candidates."""

    def vectors(self, docs: Ints) -> npt.NDArray[np.float32]:
        """The stored vectors of documents; NaN where there is none."""
        ...


MakeQuery = Callable[[Any, str, Question, Scoring | None, str | None], LegQuery]
"""As `leg_query`: an engine's read side, a leg's name, the question, another formula, a FAISS family."""


class PostingsQuery:
    """A leg with an inverted index."""

    def __init__(self, view: View, name: str, question: Question, scoring: Scoring | None) -> None:
        self.name = name
        self.leg = view.settings.leg(name)
        self._view = view
        self._question = question
        self._searcher: LegSearcher = view.searcher(self.leg.of or name)
        self._shown = self.leg if self.leg.of is None else view.settings.leg(self.leg.of)
        """The leg whose postings are searched: it knows where its terms stand."""
        self._terms = question.weights(self.leg)
        self.n_asked = len(self._terms)
        self.prepared: Query = self._searcher.prepare(self._terms, scoring or self.leg.scoring)

    def search(self, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        return self._searcher.search(self.prepared, k, mask)

    def score(self, docs: Ints) -> F64:
        return self._searcher.score(self.prepared, docs)

    def n_scored(self, mask: Mask | None) -> int:
        return self._view.count(mask)

    def coverage(self, best: float) -> float | None:
        if self.leg.kind != "words":
            return None
        return coverage(self._searcher, self._terms, self.prepared, best)

    def explain(self, doc: int) -> Explanation:
        leg = self.leg
        labelled = leg.kind in ("latent", "visual", "splade", "scalar", "translated")
        tree = explain_leg(
            self._searcher, self.prepared, doc, lambda terms: self._places(doc, terms),
            self._label if labelled else None, self._asked if labelled else None,
        )  # fmt: skip
        if leg.of is None:
            return tree
        label = f"{self.name}: {describe(self.prepared.scoring)} over the postings of {leg.of}"
        return translated(tree, self.name, label)

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        """Places that gave more of the score are worth more."""
        text = self._view.document(doc).text or ""
        parts, tf = self._searcher.contributions(self.prepared, doc)
        worth = {t: float(v) for t, v in zip(self.prepared.terms, parts, strict=True) if v > 0.0}
        if self._shown.source != "text" or not worth:
            return highlight(text, [], **options)
        stored = {t: float(w) for t, w in zip(self.prepared.terms, tf, strict=True) if t in worth}
        found, _ = self._places(doc, stored)
        spans = evidence.tokens(found)
        return highlight(text, spans, weights={str(t): v for t, v in worth.items()}, **options)

    def settings(self) -> dict[str, Any]:
        out: dict[str, Any] = {"leg": self.name, "scoring": self.prepared.scoring.to_json()}
        if self.leg.kind == "latent" and self._question.text is not None:
            out["query"] = self._question.mode_of(self.leg)
        return out

    def _places(self, doc: int, terms: Mapping[Term, float]) -> tuple[evidence.Places, str]:
        return evidence.places(self._shown, self._view.document(doc), terms, terms, self._view.settings.trust)

    def _label(self, term: Term) -> str:
        model = self.leg.align.picture if self.leg.align is not None else self.leg.model
        return str(term) if model is None else model.load_reader().label(int(term))

    def _asked(self, terms: Sequence[Term]) -> Mapping[Term, Sequence[str]]:
        return evidence.query_words(self.leg, self._question, terms)


class DenseQuery:
    """A leg of pooled vectors."""

    n_asked = 0

    def __init__(self, view: View, name: str, question: Question, ann: str | None = None) -> None:
        self.name = name
        self.leg = view.settings.leg(name)
        self._view = view
        self._searcher: DenseSearcher = view.dense(name)
        self._index: FaissIndex | None = None if ann is None else view.approximate(name, ann)
        self._ann = ann
        self._fallback: str | None = None
        self.vector: Vector = question.pooled(self.leg)
        if self._searcher.dim not in (0, len(self.vector)):
            raise InvalidInput(
                f"the vectors of leg {name!r} have {self._searcher.dim} numbers, the query's has {len(self.vector)}"
            )

    def search(self, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        """Exact, or what a FAISS index proposes in exact order."""
        if self._index is None:
            return self._searcher.search(self.vector, k, mask)
        found = self._index.find(self.vector, k, mask)
        self._fallback = found.fallback
        return found.docs, found.scores

    def score(self, docs: Ints) -> F64:
        return self._searcher.score(self.vector, docs)

    def vectors(self, docs: Ints) -> npt.NDArray[np.float32]:
        """The stored vectors of documents; NaN where there is none."""
        return self._searcher.vectors(docs)

    def n_scored(self, mask: Mask | None) -> int:
        return self._searcher.n_allowed(mask)

    def coverage(self, best: float) -> float | None:
        return None

    def explain(self, doc: int) -> Explanation:
        return explain_cosine(self, doc, len(self.vector))

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        return highlight(self._view.document(doc).text or "", [], **options)

    def settings(self) -> dict[str, Any]:
        out: dict[str, Any] = {"leg": self.name, "scoring": {"name": "cosine"}}
        if self._index is not None:
            out |= {"ann": self._ann, "ann_notes": list(self._index.notes), "ann_fallback": self._fallback}
        return out


def explain_cosine(query: VectorQuery, doc: int, dimensions: int) -> Explanation:
    """A cosine has no smaller parts: the reasons are in the other legs."""
    value = float(query.score(np.array([doc], np.int64))[0])
    what = "cosine" if query.leg.align is None else "cosine of text and picture in their common space"
    label = f"{query.name}: {what}"
    return Explanation(value, label, (), {"dimensions": dimensions}, kind="cosine", field=query.name)


def translated(tree: Explanation, name: str, label: str) -> Explanation:
    """The tree of leg `name`, which has another leg's postings: terms are named by the words that they translate."""
    parts = tuple(replace(p, label=_translation(p), field=name) for p in tree.parts)
    return replace(tree, label=label, parts=parts, field=name)


def _translation(part: Explanation) -> str:
    """A visual word named by the words that it translates."""
    words = str(part.details.get("from", "")).split(", ")
    return f"{', '.join(words[:2])} -> {part.label}" if words[0] else part.label


def leg_query(
    view: View, name: str, question: Question, scoring: Scoring | None = None, ann: str | None = None
) -> LegQuery:
    """The question for one leg, which must be able to answer it; `ann` names a FAISS family for legs of vectors."""
    leg = view.settings.leg(name)
    if not question.answers(leg):
        takes = {"text": "a text", "image": "a picture (image=)", None: "ready-made terms"}[leg.asks_for]
        if leg.kind == "dense" and leg.source is None:
            takes = "a vector"
        raise InvalidInput(f"leg {name!r} takes {takes}, not {question.describe()}")
    if not leg.has_vectors:
        return PostingsQuery(view, name, question, scoring)
    if scoring is not None:
        raise InvalidInput(f"leg {name!r} is compared by cosine: it takes no scoring")
    return DenseQuery(view, name, question, ann)
