"""Exact search over one field of a snapshot: the engine behind `Collection.search`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.phi import apply_phi
from zipfian.index.segment import SegmentReader
from zipfian.retrieve.arena import NO_MASK, windows
from zipfian.retrieve.budget import default_budget
from zipfian.retrieve.cache import PostingCache
from zipfian.retrieve.formulas import SHARE, OtherFormulas
from zipfian.retrieve.layout import WINDOW
from zipfian.retrieve.passages import PassageMap
from zipfian.retrieve.scoring import Scoring, TfIdf
from zipfian.retrieve.statistics import FieldStatistics, Term
from zipfian.retrieve.validate import check_k, check_scoring
from zipfian.vocabulary.pruning import Pruning

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TermQuery:
    """A query made ready for one field and one formula: only terms that can contribute, in the order given."""

    terms: tuple[Term, ...]
    given: F64
    """TermQuery weights after phi."""
    df: Ints
    idf: F64
    weight: F64
    """What an impact is multiplied by: idf x query weight."""
    scoring: Scoring


class FieldSearcher:
    """One field of one snapshot. Immutable for its users; any number of threads may search at once.

    Opening costs O(N) for the norms. Impacts under the field's own scoring are cached list by list, and so are those of
    the few other scorings asked for last (`formulas.py`), each at the price of its norms; another phi costs one pass
    over all postings first.
    """

    def __init__(
        self,
        name: str,
        segments: Sequence[SegmentReader],
        scoring: Scoring,
        pruning: Pruning | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        self.name = name
        self.scoring = scoring
        self._segments = tuple(segments)
        found = [(s.fields[name].passages if name in s.fields else None, s.n_docs) for s in segments]
        self.passages = PassageMap.over(found)
        """Which passages the documents have, where those are what is searched and numbered; None: it is documents."""
        self._pruning = pruning or Pruning()
        self._cache_bytes = default_budget() if cache_bytes is None else cache_bytes
        self._lock = threading.RLock()
        self._stats: dict[str, FieldStatistics] = {}
        self._formulas: dict[Scoring, tuple[F64, F64]] = {}
        self._cache: PostingCache | None = None
        self._others = OtherFormulas(self._lists_under)
        self._local = threading.local()

    def statistics(self, phi: str | None = None) -> FieldStatistics:
        """N, df and lengths; lengths under the given phi (default: the field's own)."""
        key = str(self.scoring.phi if phi is None else phi)
        with self._lock:
            if key not in self._stats:
                if len(self._stats) > 4:  # a sweep over phi must not fill the memory
                    self._stats = {p: s for p, s in self._stats.items() if p == str(self.scoring.phi)}
                self._stats[key] = FieldStatistics(self.name, self._segments, key, self._pruning)
            return self._stats[key]

    def prepare(
        self, terms: Mapping[Term, float] | Mapping[str, float] | Mapping[int, float], scoring: Scoring | None = None
    ) -> TermQuery:
        """Look the terms up; those no live document has, or that are worth nothing, are left out."""
        formula = self.scoring if scoring is None else check_scoring(scoring)
        if len(terms) > limits.MAX_QUERY_TERMS:
            raise LimitExceeded(f"a query of {len(terms)} terms, the limit is {limits.MAX_QUERY_TERMS}")
        weights = np.fromiter(terms.values(), np.float64, len(terms))
        if len(weights) and not (weights.min() > 0.0 and weights.max() <= limits.MAX_QUERY_WEIGHT):
            raise InvalidInput(f"query weights must be finite, above 0 and at most {limits.MAX_QUERY_WEIGHT:g}")
        stats = self.statistics()
        df = np.fromiter((stats.df(term) for term in terms), np.int64, len(terms))
        idf = formula.idf(df.astype(np.float64), stats.n_live)
        given = apply_phi(weights, str(formula.phi))
        if isinstance(formula, TfIdf):
            given = formula.query_vector(given, np.where(df > 0, idf, 0.0)) if len(given) else given
        weight = given * idf
        keep = (df > 0) & (weight > 0.0)
        kept = tuple(term for term, ok in zip(terms, keep.tolist(), strict=True) if ok)
        return TermQuery(kept, given[keep], df[keep], idf[keep], weight[keep], formula)

    def search(self, query: TermQuery, k: int, mask: npt.NDArray[np.bool_] | None = None) -> tuple[Ints, F64]:
        """The k best live documents (numbers through all segments), best first, with their scores.

        `mask` holds one bool per document: documents left out never appear, and k is filled from the others.
        """
        from zipfian.retrieve import kernels

        n_docs = self.statistics().n_docs
        limit = min(check_k(k), n_docs)
        out_docs, out_scores = np.empty(limit, np.int64), np.empty(limit, np.float64)
        if not query.terms or not limit:
            return out_docs[:0], out_scores[:0]
        allowed = self._pad(mask)
        norm, spec = self._formula(query.scoring)
        postings, slots, cached = self._impacts(query)
        if cached:
            n = kernels.topk(
                postings, windows(n_docs), norm, spec, slots, query.weight, limit, allowed, self._accumulator(),
                out_docs, out_scores,
            )  # fmt: skip
        else:
            n = kernels.exact_topk(
                postings, windows(n_docs), norm, spec, slots, query.weight, limit, allowed, out_docs, out_scores
            )
        return out_docs[:n], out_scores[:n]

    def score(self, query: TermQuery, docs: Ints) -> F64:
        """Exact scores of given documents, 0.0 where no term is shared (or the document is deleted)."""
        from zipfian.retrieve import kernels

        if not query.terms or not len(docs):
            return np.zeros(len(docs), np.float64)
        postings, slots, _ = self._lists(query)
        out: F64 = kernels.score_docs(postings, *self._formula(query.scoring), slots, query.weight, docs)
        return out

    def contributions(self, query: TermQuery, doc: int) -> tuple[F64, npt.NDArray[np.float32]]:
        """What each term of the query adds to one document's score, and the term's weight there (0: absent).

        Each number is the kernel's own product, so summing them in order gives the score to the last bit.
        """
        from zipfian.retrieve import kernels

        parts, tf = np.zeros(len(query.terms), np.float64), np.zeros(len(query.terms), np.float32)
        if not query.terms:
            return parts, tf
        postings, slots, _ = self._lists(query)
        norm, spec = self._formula(query.scoring)
        one = np.array([doc], np.int64)
        plain = np.array([2.0, 1.0, 0.0, 0.0, 1.0])  # the linear family: the stored weight itself
        unit = np.ones(1)
        for j in range(len(slots)):
            at = slots[j : j + 1]
            tf[j] = kernels.score_docs(postings, norm, plain, at, unit, one)[0]
            if tf[j] > 0.0:  # of hundreds of visual words a picture has a few dozen
                parts[j] = kernels.score_docs(postings, norm, spec, at, query.weight[j : j + 1], one)[0]
        return parts, tf

    def norms(self, scoring: Scoring) -> F64:
        """One number per document; computed once per formula and kept."""
        return self._formula(scoring)[0]

    def _formula(self, scoring: Scoring) -> tuple[F64, F64]:
        """Norms and kernel settings of a formula, made once and kept."""
        with self._lock:
            found = self._formulas.get(scoring)
            if found is None:
                if len(self._formulas) > 8:  # a sweep over k1 and b must not fill the memory
                    self._formulas = {s: n for s, n in self._formulas.items() if s == self.scoring}
                found = self._formulas[scoring] = self._compute_norms(scoring), scoring.kernel().array()
            return found

    @property
    def cache_nbytes(self) -> int:
        """Bytes of decoded lists held now."""
        return (self._cache.nbytes if self._cache else 0) + self._others.nbytes

    def _compute_norms(self, scoring: Scoring) -> F64:
        stats = self.statistics(str(scoring.phi))
        if isinstance(scoring, TfIdf):
            return _cosine_norms(stats, scoring)
        return scoring.norms(stats.lengths[0], stats.mean_length)

    def _impacts(self, query: TermQuery) -> tuple[Any, Ints, bool]:
        """The query's lists, and whether they carry the impacts of its formula."""
        if query.scoring != self.scoring:
            stats = self.statistics()
            cache = self._others.under(query.scoring)
            found = cache.lists(query.terms, query.df, lambda i: stats.postings(query.terms[i]))
            if found is not None:
                return found[0], found[1], True
        postings, slots, cached = self._lists(query)
        return postings, slots, cached and query.scoring == self.scoring

    def _lists_under(self, scoring: Scoring) -> PostingCache:
        stats = self.statistics()
        return PostingCache(stats.n_docs, stats.n_postings, *self._formula(scoring), self._cache_bytes // SHARE)

    def _lists(self, query: TermQuery) -> tuple[Any, Ints, bool]:
        """The query's lists in the kernels' layout, from the cache, or decoded for this search alone."""
        stats = self.statistics()
        with self._lock:
            if self._cache is None:
                self._cache = PostingCache(
                    stats.n_docs, stats.n_postings, *self._formula(self.scoring), self._cache_bytes
                )
        found = self._cache.lists(query.terms, query.df, lambda i: stats.postings(query.terms[i]))
        if found is not None:
            return found[0], found[1], True
        total = int(query.df.sum())
        once = PostingCache(stats.n_docs, total, self._cache.norm, self._cache.spec, 1 << 62)
        lists = once.lists(query.terms, query.df, lambda i: stats.postings(query.terms[i]))
        if lists is None:
            raise InvalidInput("the postings of this query do not fit in memory")
        return lists[0], lists[1], False

    def _pad(self, mask: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
        if mask is None:
            return NO_MASK
        out = np.zeros(windows(len(mask)) * WINDOW, np.bool_)
        out[: len(mask)] = mask
        return out

    def _accumulator(self) -> npt.NDArray[np.uint16]:
        acc: npt.NDArray[np.uint16] | None = getattr(self._local, "acc", None)
        if acc is None:
            acc = self._local.acc = np.zeros(WINDOW, np.uint16)
        return acc


def _cosine_norms(stats: FieldStatistics, scoring: TfIdf) -> F64:
    """Euclidean length of every document's TF-IDF vector: one pass over all postings, terms ascending.

    `np.add.at` adds one posting after the other, so the order of additions, and with it every bit, is that of a
    collection built at once.
    """
    squares = np.zeros(stats.n_docs, np.float64)
    terms, df = stats.vocabulary
    idf = scoring.idf(df.astype(np.float64), stats.n_live)
    for term, factor in zip(terms, idf.tolist(), strict=True):
        if factor > 0.0 and term not in stats.dropped:
            docs, weights = stats.postings(term)
            value = np.maximum(1.0 + np.log(apply_phi(weights.astype(np.float64), str(scoring.phi))), 0.0) * factor
            np.add.at(squares, docs, value * value)
    return np.sqrt(squares)
