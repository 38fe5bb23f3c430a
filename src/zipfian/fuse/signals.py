"""What can be seen of a query before anybody judges its results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from zipfian.index.phi import apply_phi
from zipfian.retrieve.scoring import BM25, Dot, Scoring, TfIdf
from zipfian.retrieve.searcher import FieldSearcher, TermQuery
from zipfian.retrieve.statistics import Term

F64 = npt.NDArray[np.float64]


def coverage(
    searcher: FieldSearcher,
    terms: Mapping[Term, float] | Mapping[str, float] | Mapping[int, float],
    query: TermQuery,
    best: float,
) -> float | None:
    """How much of what a words query asks for its best document holds: 0 (nothing) to 1 (all of it).

    The field's best score is compared with what a document of average length would score that has every
    word of the query once: the idf of all query words, unknown ones (in no document, hence as rare as can be) included.
    Rare words weigh most in this sum. Near 1, some document has all that was asked, rare words first, and words alone
    decide well; a long question whose best document has a third of it did not use the documents' words.

    Parameters
    ----------
    searcher
        Of the words field.
    terms
        The query's words and how often it names each.
    query
        The same as the searcher's query, for its formula.
    best
        The field's best score.

    Returns
    -------
    float or None
        None where the formula has no such yardstick (only BM25 has).

    Examples
    --------
    >>> import tempfile, zipfian as zf
    >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
    >>> _ = notes.add([{"id": "a", "text": "Plants make food."}, {"id": "b", "text": "Cats sleep."}])
    >>> _ = notes.commit()
    >>> searcher = notes.searcher().field_searcher("words")
    >>> terms = {"cat": 1.0, "sleep": 1.0}
    >>> query = searcher.prepare(terms)
    >>> _, scores = searcher.search(query, k=1)
    >>> coverage(searcher, terms, query, float(scores[0]))
    1.0
    """
    formula = query.scoring
    if not isinstance(formula, BM25):
        return None
    stats = searcher.statistics()
    given = np.fromiter(terms.values(), np.float64, len(terms))
    df = np.fromiter((stats.df(term) for term in terms), np.float64, len(terms))
    return covered(formula, given, df, stats.n_live, best)


COMMON = 10.0
"""A term that more documents have than one in so many says little about any of them."""

PRESENCE = BM25(k1=0.0, b=0.0)
"""Scores a document by which words it has: the idf of each, however often it stands there."""


def covered_by(
    searcher: FieldSearcher,
    terms: Mapping[Term, float] | Mapping[str, float] | Mapping[int, float],
    docs: npt.NDArray[np.int64],
) -> F64:
    """The share of the query's words, by idf, that each of some documents (ascending) has, 0 to 1."""
    stats = searcher.statistics()
    df = np.fromiter((stats.df(term) for term in terms), np.float64, len(terms))
    asked = idf_asked(np.fromiter(terms.values(), np.float64, len(terms)), df, stats.n_live)
    if asked <= 0.0:
        return np.zeros(len(docs), np.float64)
    return searcher.score(searcher.prepare(terms, PRESENCE), docs) / asked


def idf_asked(given: F64, df: F64, documents: int) -> float:
    """What a document with every word would have: weights times idf, of words in no document too."""
    return float(np.sum(given * PRESENCE.idf(df, documents)))


def covered(formula: BM25, given: F64, df: F64, documents: int, best: float) -> float:
    """The same from numbers: the weights of the query's words, and in how many of the documents each stands."""
    once = float(_impact(formula, np.ones(1))[0])
    asked = float(np.sum(apply_phi(given, str(formula.phi)) * formula.idf(df, documents))) * once
    return min(1.0, max(0.0, best / asked)) if asked > 0.0 else 0.0


def whole(
    searcher: FieldSearcher, terms: Mapping[Term, float] | Mapping[str, float] | Mapping[int, float], formula: Scoring
) -> float:
    """What a query would score, were it a document of average length: the measure of what others have of it."""
    stats = searcher.statistics()
    df = np.fromiter((stats.df(term) for term in terms), np.float64, len(terms))
    norm = float(searcher.norms(formula).sum()) / max(stats.n_live, 1) if isinstance(formula, TfIdf) else 1.0
    return whole_of(formula, np.fromiter(terms.values(), np.float64, len(terms)), df, stats.n_live, norm)


def whole_of(formula: Scoring, given: F64, df: F64, documents: int, norm: float = 1.0) -> float:
    """The same from numbers; `norm` is the mean length of the documents' vectors, for TF-IDF.

    Terms that no document has count as well: what is asked for is not there. What nearly every document has is not
    worth finding: a query is worth at least what its strongest term would be if one document in COMMON had it.
    """
    if not len(given):
        return 0.0
    weights, idf = apply_phi(given, str(formula.phi)), formula.idf(df, documents)
    common = float(formula.idf(np.array([documents / COMMON]), documents)[0])
    if isinstance(formula, TfIdf):
        worth = np.maximum(1.0 + np.log(weights), 0.0)
        parts = np.square(worth * idf)
        known = float(np.sqrt(parts[df > 0].sum())) * norm
        return max(float(parts.sum()), (float(worth.max()) * common) ** 2) / known if known > 0.0 else 0.0
    worth = weights * _impact(formula, weights)
    return max(float(np.sum(worth * idf)), float(worth.max()) * common)


def _impact(formula: BM25 | Dot, tf: F64) -> F64:
    """Impacts of terms with such weights, after phi, in a document of average length."""
    if isinstance(formula, Dot):
        return tf
    _, a, b, k1, _ = formula.kernel()
    if formula.variant == "bm25l":
        return a * (tf + b) / (k1 + tf + b)
    return a * tf / (tf + formula.k1) + b
