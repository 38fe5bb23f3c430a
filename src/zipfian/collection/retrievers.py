"""A query made ready for one field of one snapshot: search it, score given documents, explain one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from zipfian.collection.searcher import Searcher
from zipfian.encode.passages import Reading
from zipfian.errors import InvalidInput
from zipfian.explain.highlight import Snippet, highlight
from zipfian.explain.likeness import over_patches
from zipfian.explain.terms import describe, explain_field
from zipfian.fields.adjusting import adjusted
from zipfian.fields.base import Field, PostingField, VectorField
from zipfian.fields.item import Stored
from zipfian.fields.places import CHANGED, Places, in_document, tokens
from zipfian.fields.query import Query, Vector
from zipfian.fuse.signals import coverage, covered_by, whole
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.faiss_index import FaissIndex
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.retrieve.searcher import FieldSearcher, TermQuery
from zipfian.retrieve.statistics import Term
from zipfian.types import Explanation

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Retriever(Protocol):
    """What fusion and reranking ask of any field. A mask is what the field's engine makes of a filter."""

    name: str

    @property
    def field(self) -> Field:
        """What is asked."""
        ...

    def search(self, k: int, mask: Any) -> tuple[Ints, F64]:
        """The k best documents (numbers in the snapshot) and their exact scores, best first."""
        ...

    def score(self, docs: Ints) -> F64:
        """Exact scores of given documents."""
        ...

    def n_scored(self, mask: Any) -> int:
        """Documents that have a score in this field, be it 0."""
        ...

    def coverage(self, best: float) -> float | None:
        """How much of what a words query asks for the best document has, 0 to 1; None where nobody can tell."""
        ...

    def covered(self, docs: Ints) -> F64:
        """The share of the query's words that each of some documents has; asked of fields of words only."""
        ...

    def passage(self, doc: int) -> tuple[int, int] | None:
        """Where the passage that a document is found by stands in its text; None: it is found as a whole."""
        ...

    def whole(self) -> float:
        """What the query itself would score, were it a document of average length; 0 where nothing was asked."""
        ...

    def explain(self, doc: int, places: bool = True) -> Explanation:
        """One document's score as a tree; without `places`, its text or picture is not read again."""
        ...

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        """The best passages of one document."""
        ...

    def settings(self) -> dict[str, Any]:
        """How it was asked, for reports."""
        ...


@runtime_checkable
class VectorRetriever(Retriever, Protocol):
    """A field of vectors: it can rerank candidates."""

    def vectors(self, docs: Ints) -> npt.NDArray[np.float32]:
        """The stored vectors of documents; NaN where there is none."""
        ...


MakeRetriever = Callable[[Any, str, Query, Scoring | None, str | None], Retriever]
"""As `make_retriever`: an engine's read side, a field's name, the query, another formula, a FAISS family."""


class PostingsRetriever:
    """A field with an inverted index."""

    def __init__(
        self, searcher: Searcher, name: str, field: PostingField, query: Query, scoring: Scoring | None
    ) -> None:
        self.name = name
        self.field = field
        self._searcher = searcher
        self._query = query
        other = field.of
        self._postings: FieldSearcher = searcher.field_searcher(other or name)
        self._shown = field if other is None else searcher.settings.postings(other)
        """The field whose postings are searched: it knows where its terms stand."""
        self._passages = self._postings.passages
        self._terms = query.terms_in(name, field) if query.adjust else field.terms_of(query)
        own = None if other is None else field.scoring  # None: the formula that the postings are kept ready for
        formula = scoring or own
        applied = formula or self._postings.scoring
        # BM25, so nearly every search, compares what was asked: no field has other terms under it.
        under: Mapping[Any, float] | None = None if isinstance(applied, BM25) else field.terms_under(query, applied)
        self._compared = self._terms if under is None else adjusted(under, query.adjust.get(name, {}))
        """What the formula compares; what was asked for, `_terms`, may be less."""
        self.prepared: TermQuery = self._postings.prepare(self._compared, formula)

    @cached_property
    def _label(self) -> Callable[[Term], str]:
        """Hits share most of the query's terms: each is named once."""
        return cache(self.field.label)

    def search(self, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        if self._passages is not None:
            return self._passages.search(partial(self._postings.search, self.prepared), k, mask)
        return self._postings.search(self.prepared, k, mask)

    def score(self, docs: Ints) -> F64:
        if self._passages is not None:
            return self._passages.score(partial(self._postings.score, self.prepared), docs)
        return self._postings.score(self.prepared, docs)

    def passage(self, doc: int) -> tuple[int, int] | None:
        return None if self._passages is None else self._passages.span(self._row(doc))

    def _row(self, doc: int) -> int:
        """The row that a document is found by: its own, or that of its best passage."""
        if self._passages is None:
            return doc
        return int(self._passages.best(partial(self._postings.score, self.prepared), np.array([doc], np.int64))[0])

    def n_scored(self, mask: Mask | None) -> int:
        return self._searcher.count(mask)

    def coverage(self, best: float) -> float | None:
        if not self.field.lexical:
            return None
        return coverage(self._postings, self._terms, self.prepared, best)

    def covered(self, docs: Ints) -> F64:
        share = partial(covered_by, self._postings, self._terms)
        return share(docs) if self._passages is None else self._passages.score(share, docs)

    def whole(self) -> float:
        return whole(self._postings, self._compared, self.prepared.scoring)

    def explain(self, doc: int, places: bool = True) -> Explanation:
        field = self.field
        tree = explain_field(
            self._postings, self.prepared, self._row(doc), (lambda terms: self._places(doc, terms)) if places else None,
            self._label if field.labelled else None, lambda terms: field.words_behind(self._query, terms),
        )  # fmt: skip
        tree = with_passage(tree, self.passage(doc))
        if field.of is None:
            return tree
        label = f"{self.name}: {describe(self.prepared.scoring)} over the postings of {field.of}"
        return translated(tree, self.name, label)

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        """Places that gave more of the score are worth more."""
        text = self._searcher.document(doc).text or ""
        parts, tf = self._postings.contributions(self.prepared, self._row(doc))
        worth = {t: float(v) for t, v in zip(self.prepared.terms, parts, strict=True) if v > 0.0}
        if self._shown.reads != "text" or not worth:
            return highlight(text, [], **options)
        stored = {t: float(w) for t, w in zip(self.prepared.terms, tf, strict=True) if t in worth}
        found, _ = self._places(doc, stored)
        spans = tokens(found)
        return highlight(text, spans, weights={str(t): v for t, v in worth.items()}, **options)

    def settings(self) -> dict[str, Any]:
        return {"field": self.name, "scoring": self.prepared.scoring.to_json(), **self.field.report(self._query)}

    def _places(self, doc: int, terms: Mapping[Term, float]) -> tuple[Places, str]:
        stored, span = self._searcher.settings.stored(self._searcher.document(doc)), self.passage(doc)
        if span is None:
            return self._shown.places(stored, terms, terms)
        reading = Reading.of(stored.text or "", span)
        found, note = self._shown.places(replace(stored, text=reading.text), terms, terms)
        return in_document(found, reading), note


class DenseRetriever:
    """A field of pooled vectors."""

    def __init__(self, searcher: Searcher, name: str, field: VectorField, query: Query, ann: str | None = None) -> None:
        self.name = name
        self.field = field
        self._searcher = searcher
        self._dense: DenseSearcher = searcher.dense(name)
        self._passages = self._dense.passages
        self._index: FaissIndex | None = None if ann is None else searcher.approximate(name, ann)
        self._ann = ann
        self._fallback: str | None = None
        self.vector: Vector = self.field.vector_of(query)
        if self._dense.dim not in (0, len(self.vector)):
            raise InvalidInput(
                f"the vectors of field {name!r} have {self._dense.dim} numbers, the query's has {len(self.vector)}"
            )

    def search(self, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        """Exact, or what a FAISS index proposes in exact order."""
        return self._search(k, mask) if self._passages is None else self._passages.search(self._search, k, mask)

    def _search(self, k: int, mask: Mask | None) -> tuple[Ints, F64]:
        if self._index is None:
            return self._dense.search(self.vector, k, mask)
        found = self._index.find(self.vector, k, mask)
        self._fallback = found.fallback
        return found.docs, found.scores

    def score(self, docs: Ints) -> F64:
        if self._passages is not None:
            return self._passages.score(self._score, docs)
        return self._score(docs)

    def _score(self, rows: Ints) -> F64:
        return self._dense.score(self.vector, rows)

    def passage(self, doc: int) -> tuple[int, int] | None:
        if self._passages is None:
            return None
        return self._passages.span(int(self._passages.best(self._score, np.array([doc], np.int64))[0]))

    def vectors(self, docs: Ints) -> npt.NDArray[np.float32]:
        """The stored vectors of documents, of long texts those of their best passages; NaN where there is none."""
        rows = docs if self._passages is None else self._passages.best(self._score, docs)
        return self._dense.vectors(rows)

    def n_scored(self, mask: Mask | None) -> int:
        if self._passages is None:
            return self._dense.n_allowed(mask)
        return self._passages.count(self._dense.allowed(None if mask is None else self._passages.mask(mask)))

    def coverage(self, best: float) -> float | None:
        return None

    def covered(self, docs: Ints) -> F64:
        return np.zeros(len(docs), np.float64)

    def whole(self) -> float:
        return 1.0

    def explain(self, doc: int, places: bool = True) -> Explanation:
        stored = self._searcher.settings.stored(self._searcher.document(doc)) if places else None
        return with_passage(explain_cosine(self, doc, self.field, self.vector, stored), self.passage(doc))

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        return highlight(self._searcher.document(doc).text or "", [], **options)

    def settings(self) -> dict[str, Any]:
        out: dict[str, Any] = {"field": self.name, "scoring": {"name": "cosine"}}
        if self._index is not None:
            out |= {"ann": self._ann, "ann_notes": list(self._index.notes), "ann_fallback": self._fallback}
        return out


def explain_cosine(
    retriever: VectorRetriever, doc: int, field: VectorField, vector: Vector, stored: Stored | None
) -> Explanation:
    """A cosine, over the patches of a picture where the field knows how and the `stored` document is given."""
    value = float(retriever.score(np.array([doc], np.int64))[0])
    what = "cosine" if not field.across else "cosine of text and picture in their common space"
    about: dict[str, Any] = {"dimensions": len(vector)}
    spread, note = (None, "") if stored is None or math.isnan(value) else field.spread(stored, vector)
    parts = None if spread is None else over_patches(value, spread.places, spread.rest, retriever.name)
    if spread is not None and parts is None:
        note = CHANGED.format(what="picture")
    if note:
        about["note"] = note
    return Explanation(value, f"{retriever.name}: {what}", parts or (), about, kind="cosine", field=retriever.name)


def with_passage(tree: Explanation, span: tuple[int, int] | None) -> Explanation:
    """The same tree, saying which passage of the text it is about; None: the whole text."""
    return tree if span is None else replace(tree, details={**tree.details, "passage": list(span)})


def translated(tree: Explanation, name: str, label: str) -> Explanation:
    """The tree of field `name` over another field's postings: terms are named by the words that they translate."""
    parts = tuple(replace(p, label=_translation(p), field=name) for p in tree.parts)
    return replace(tree, label=label, parts=parts, field=name)


def _translation(part: Explanation) -> str:
    """A visual word named by the strongest two words of the query that it translates."""
    words = str(part.details.get("from", "")).split(", ")
    return ", ".join(words[:2]) if words[0] else part.label


def make_retriever(
    searcher: Searcher, name: str, query: Query, scoring: Scoring | None = None, ann: str | None = None
) -> Retriever:
    """The query for one field, which is known to be able to answer it; `ann` names a FAISS family for vectors."""
    field = searcher.settings.fields[name]
    if isinstance(field, PostingField):
        return PostingsRetriever(searcher, name, field, query, scoring)
    if scoring is not None:
        raise InvalidInput(f"field {name!r} is compared by cosine: it takes no scoring")
    return DenseRetriever(searcher, name, searcher.settings.vectors(name), query, ann)
