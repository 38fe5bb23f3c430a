"""A query made ready for one field of a cluster: the same promises as for a field of the embedded engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.retrievers import translated
from zipfian.engines.opensearch.codes import token
from zipfian.engines.opensearch.explanation import Matched, parse
from zipfian.engines.opensearch.filters import Clause
from zipfian.engines.opensearch.mapping import index_field
from zipfian.engines.opensearch.reader import Reader
from zipfian.engines.opensearch.vectorquery import VectorRetriever
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.explain.highlight import Snippet, highlight
from zipfian.explain.terms import describe
from zipfian.fields.places import Places, tokens
from zipfian.fields.query import Query
from zipfian.fuse.signals import PRESENCE, covered, idf_asked, whole_of
from zipfian.index.phi import parse_phi
from zipfian.limits import MAX_EVIDENCE, MAX_QUERY_TERMS, MAX_QUERY_WEIGHT
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.retrieve.statistics import Term
from zipfian.retrieve.validate import check_k
from zipfian.types import Explanation

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RESERVED_CLAUSES = 8
SURE_CLAUSES = 256
"""No cluster is set up with a lower limit; only larger queries ask for it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What the cluster's limit on clauses cost a query."""

    terms: int
    kept: int
    loss: float
    """Share of the sum of upper bounds of the terms' contributions that was left out."""


class PostingsRetriever:
    """A field with an inverted index."""

    def __init__(self, reader: Reader, name: str, query: Query) -> None:
        self.name = name
        self.field = reader.settings.postings(name)
        self.cut: Cut | None = None
        self._taken = 0
        """Clauses that a filter took of the cluster's limit."""
        self._reader = reader
        self._query = query
        self._postings = self.field.of or name
        self._shown = reader.settings.postings(self._postings)
        """The field whose postings are searched: it knows where its terms stand."""
        self._code = reader.codes[self._postings]
        weights = query.terms_in(name, self.field)
        if len(weights) > MAX_QUERY_TERMS:
            raise LimitExceeded(f"a query of {len(weights)} terms, the limit is {MAX_QUERY_TERMS}")
        self._terms: list[Term] = list(weights)
        self._given = np.fromiter(weights.values(), np.float64, len(weights))
        if len(self._given) and not (self._given.min() > 0.0 and self._given.max() <= MAX_QUERY_WEIGHT):
            raise InvalidInput(f"query weights must be finite, above 0 and at most {MAX_QUERY_WEIGHT:g}")
        self._boosts = self._code.boosts(self.field, self._given, reader.client.server)

    # ------------------------------------------------------------------ searching

    def search(self, k: int, mask: Clause | None) -> tuple[Ints, F64]:
        size = check_k(k)
        if not self._terms:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        return self._reader.top(self.query(mask), size)

    def score(self, docs: Ints) -> F64:
        if not self._terms or not len(docs):
            return np.zeros(len(docs), np.float64)
        return self._reader.scores(self.query(None), docs)

    def n_scored(self, mask: Clause | None) -> int:
        return self._reader.count(mask)

    def coverage(self, best: float) -> float | None:
        """As `fuse.signals.coverage`: the best score beside that of a document with every word once."""
        scoring = self.field.scoring
        if not self.field.lexical or not isinstance(scoring, BM25) or not self._terms:
            return None
        df = self._reader.frequencies([self.clause(term, 1.0) for term in self._terms]).astype(np.float64)
        return covered(scoring, self._given, df, self._reader.count(None), best)

    def covered(self, docs: Ints) -> F64:
        """As `fuse.signals.covered_by`: a clause that scores the idf of a word wherever it stands."""
        if not self._terms or not len(docs):
            return np.zeros(len(docs), np.float64)
        each = [self.clause(term, 1.0) for term in self._terms]
        df = self._reader.frequencies(each).astype(np.float64)
        total = self._reader.count(None)
        idf = self._given * PRESENCE.idf(df, total)
        there = np.flatnonzero(df > 0.0).tolist()
        should = [{"constant_score": {"filter": each[i], "boost": float(idf[i])}} for i in there]
        if not should:
            return np.zeros(len(docs), np.float64)
        found = self._reader.scores({"bool": {"should": should, "minimum_should_match": 1}}, docs)
        return found / idf_asked(self._given, df, total)

    def whole(self) -> float:
        """As `fuse.signals.whole`."""
        if not self._terms:
            return 0.0
        df = self._reader.frequencies([self.clause(term, 1.0) for term in self._terms]).astype(np.float64)
        return whole_of(self.field.scoring, self._given, df, self._reader.count(None))

    def query(self, mask: Clause | None) -> Clause:
        """The engine's query: one clause per term, its weight as the boost.

        What a filter's clauses cost stays left out: documents are scored and explained by the terms that found them.
        """
        taken = max(self._taken, 0 if mask is None else clauses(mask))
        chosen = self._chosen(taken)
        self._taken = taken
        should = [self.clause(self._terms[i], float(self._boosts[i])) for i in chosen]
        body: dict[str, Any] = {"should": should, "minimum_should_match": 1}
        if mask is not None:
            body["filter"] = [mask]
        return {"bool": body}

    def clause(self, term: Term, boost: float) -> Clause:
        """One term."""
        stored = index_field(self._postings)
        if self._code.storage == "features":
            return {"rank_feature": {"field": f"{stored}.{token(term)}", "linear": {}, "boost": boost}}
        return {"term": {stored: {"value": token(term), "boost": boost}}}

    def _chosen(self, taken: int) -> Sequence[int]:
        """The terms that may stay: all, or those that can contribute most."""
        n = len(self._terms)
        if n + taken + RESERVED_CLAUSES <= SURE_CLAUSES:
            return range(n)
        room = self._reader.max_clauses() - taken - RESERVED_CLAUSES
        if n <= room:
            return range(n)
        if room < 1:
            raise LimitExceeded(
                f"the filter alone has {taken} clauses, and the cluster allows {self._reader.max_clauses()}: make it "
                "simpler, or raise indices.query.bool.max_clause_count"
            )
        df = self._reader.frequencies([self.clause(term, 1.0) for term in self._terms])
        total = self._reader.count(None)
        bound = np.where(df > 0, self._boosts * self.field.scoring.idf(df.astype(np.float64), total), 0.0)
        order = np.argsort(-bound, kind="stable")[:room]
        lost = float(bound.sum() - bound[order].sum()) / float(bound.sum() or 1.0)
        self.cut = Cut(n, room, max(lost, 0.0))
        return [int(i) for i in np.sort(order)]

    def settings(self) -> dict[str, Any]:
        out: dict[str, Any] = {"field": self.name, "scoring": self.field.scoring.to_json(), "engine": "opensearch"}
        out |= self.field.report(self._query)
        if self.cut is not None:
            out["cut"] = {"terms": self.cut.terms, "kept": self.cut.kept, "loss": self.cut.loss}
        return out

    # ------------------------------------------------------------------ explaining

    def passage(self, doc: int) -> None:
        """Documents are kept whole here."""

    def explain(self, doc: int, places: bool = True) -> Explanation:
        """The engine's own explanation as our tree. Values are its 32-bit numbers; they sum to the root."""
        found = self._matched(doc)
        by_term = {m.term: m for m in found}
        ordered = [by_term[t] for t in self._terms if t in by_term]
        stored = {m.term: self._weight(m.frequency) for m in ordered}
        found_at, note = self._places(doc, stored) if places else ({}, "")
        words = self.field.words_behind(self._query, list(stored))
        nodes = [self._node(m, stored[m.term], found_at.get(m.term, ()), words.get(m.term)) for m in ordered]
        about: dict[str, Any] = {"engine": "opensearch"}
        if ordered and isinstance(self.field.scoring, BM25):
            first = ordered[0]
            about |= {"N": first.documents, "length": first.length / self._code.steps}
            about["mean_length"] = first.mean_length / self._code.steps
        if note:
            about["note"] = note
        label = f"{self.name}: {describe(self.field.scoring)}"
        tree = Explanation(sum(n.value for n in nodes), label, tuple(nodes), about, kind="field", field=self.name)
        if self.field.of is None:
            return tree
        return translated(tree, self.name, f"{label} over the postings of {self.field.of}")

    def _node(
        self, m: Matched, weight: float, places: Sequence[Mapping[str, Any]], words: Sequence[str] | None
    ) -> Explanation:
        details: dict[str, Any] = {"tf": weight, "query_weight": float(self._given[self._terms.index(m.term)])}
        if isinstance(self.field.scoring, BM25):
            scoring = self.field.scoring
            share = m.length / m.mean_length if m.mean_length else 0.0
            details |= {"df": m.df, "idf": m.idf, "norm": scoring.k1 * (1.0 - scoring.b + scoring.b * share)}
        label = self.field.label(m.term)
        if self.field.labelled:
            details["term"] = m.term
        if words:
            details["from"] = ", ".join(words)
        if len(places) > MAX_EVIDENCE:
            details["more_places"] = len(places) - MAX_EVIDENCE
        return Explanation(m.value, label, (), details, tuple(places[:MAX_EVIDENCE]), "term", self.name, m.term)

    def highlight(self, doc: int, options: dict[str, Any]) -> list[Snippet]:
        """Places that gave more of the score are worth more."""
        text = self._reader.document(doc).text or ""
        found = self._matched(doc)
        worth = {m.term: m.value for m in found if m.value > 0.0}
        if self._shown.reads != "text" or not worth:
            return highlight(text, [], **options)
        places, _ = self._places(doc, {m.term: self._weight(m.frequency) for m in found if m.term in worth})
        return highlight(text, tokens(places), weights={str(t): v for t, v in worth.items()}, **options)

    def _matched(self, doc: int) -> list[Matched]:
        if not self._terms:
            return []
        told = self._reader.explanation(self.query(None), doc)
        return [] if told is None else parse(told, index_field(self._postings), self._shown)

    def _weight(self, frequency: float) -> float:
        """The document's weight, as far as the frequency tells."""
        return float((frequency / self._code.steps) ** (1.0 / parse_phi(str(self.field.scoring.phi))))

    def _places(self, doc: int, stored: Mapping[Term, float]) -> tuple[Places, str]:
        exact = self.field.scoring.phi == "identity" and self._code.storage == "frequencies"
        known = stored if exact else {}
        return self._shown.places(self._reader.settings.stored(self._reader.document(doc)), stored, known)


def make_retriever(
    reader: Reader, name: str, query: Query, scoring: Scoring | None = None, ann: str | None = None
) -> PostingsRetriever | VectorRetriever:
    """The query for one field, which is known to be able to answer it."""
    field = reader.settings.field(name)
    no_formula(scoring)
    no_faiss(ann)
    return VectorRetriever(reader, name, query) if field.has_vectors else PostingsRetriever(reader, name, query)


def no_formula(scoring: Scoring | None) -> None:
    """A field's similarity is part of the mapping."""
    if scoring is not None:
        raise InvalidInput("the formula of a field is part of the index: scoring= is for collections in a folder")


def no_faiss(ann: str | None) -> None:
    """FAISS indexes are built over the files of a folder."""
    if ann is not None:
        raise InvalidInput(f"ann={ann!r} is for collections in a folder: a cluster compares all vectors, exactly")


def clauses(query: Any) -> int:
    """How many clauses a query has, nested ones included."""
    if isinstance(query, list):
        return sum(map(clauses, query))
    if isinstance(query, Mapping) and "bool" in query:
        return sum(clauses(part) for key, part in query["bool"].items() if key != "minimum_should_match")
    return 1
