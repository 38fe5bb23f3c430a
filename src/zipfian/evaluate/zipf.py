"""How the document frequencies of a vocabulary are distributed, and what that costs and gives.

BM25 weighs rare terms up and common ones down, which only helps where a vocabulary has both: a few terms that nearly
every document has and a long tail of telling ones. These are the measures of BM25-V:
a power law fitted to rank and frequency, head and tail, terms in use against a coupon collector's prediction
(its equation 11), and postings per query against its equation 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HEAD_SHARE = 0.5
"""A term in more than this share of the documents is one of the head: a stop word, by its statistics."""
TAIL_SHARE = 0.1
"""A term in less than this share of the documents is one of the tail."""
TELLING_IDF = 2.0
OPERATIONS_PER_POSTING = 5.0
"""C of equation 10; 5 gives the figures printed beside it."""
FEWEST_RANKS = 3
"""A line through fewer points says nothing."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """df(rank) = scale * rank ** -exponent, fitted by least squares to log df over log rank."""

    exponent: float
    scale: float
    r_squared: float
    first_rank: int
    last_rank: int

    def at(self, rank: npt.ArrayLike) -> Floats:
        """The fitted frequency at a rank."""
        return self.scale * np.asarray(rank, np.float64) ** -self.exponent


@dataclass(frozen=True, slots=True)
class ZipfReport:
    """The distribution of one vocabulary over one collection."""

    name: str
    documents: int
    postings: int
    vocabulary: int | None
    """Terms there could be; None where the vocabulary is open, as with words."""
    active: int
    """Terms that at least one document has."""
    coupon_collector: float | None
    """Active terms if every document drew its terms evenly from the whole vocabulary (equation 11)."""
    terms_per_document: float
    fit: PowerLaw | None
    """None where fewer than three terms are active."""
    head_share: float
    """Share of the active terms that more than half of the documents have."""
    tail_share: float
    """Share of the active terms that less than a tenth of the documents have."""
    telling_share: float
    """Share of the active terms with idf > 2."""
    expected_postings: float
    """Postings read by a query as large as a document if all lists were equally long (equation 10 without C)."""
    counted_postings: float
    """The same counted: the mean over all documents, each taken as a query."""
    expected_operations: float
    """Equation 10 with C = 5."""
    query_postings: float | None = None
    """Counted over real queries, where there were any."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def rank_frequency(df: npt.ArrayLike) -> Ints:
    """The frequencies of the active terms, largest first; rank r is place r - 1."""
    values = np.asarray(df)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise InvalidInput(f"document frequencies are a row of whole numbers, not {values.dtype} of {values.shape}")
    values = values.astype(np.int64)
    if values.size and int(values.min()) < 0:
        raise InvalidInput(f"a document frequency of {int(values.min())} is below 0")
    return np.sort(values[values > 0])[::-1]


def fit_power_law(frequencies: npt.ArrayLike, ranks: tuple[int, int | None] = (1, None)) -> PowerLaw | None:
    """Fit a straight line to log frequency over log rank; None where there are fewer than three ranks.

    Parameters
    ----------
    frequencies
        Sorted, largest first, all above 0 (`rank_frequency`).
    ranks
        First and last rank of the fit, both included; by default all, as in BM25-V. Every rank counts the same, so
        the many rare terms rule the fit.
    """
    values = np.asarray(frequencies, np.float64)
    first, last = ranks[0], len(values) if ranks[1] is None else min(ranks[1], len(values))
    if first < 1 or (ranks[1] is not None and ranks[1] < first):
        raise InvalidInput(f"ranks are counted from 1, the first before the last, not {ranks!r}")
    if last - first + 1 < FEWEST_RANKS:
        return None
    x = np.log(np.arange(first, last + 1, dtype=np.float64))
    y = np.log(values[first - 1 : last])
    x_mean, y_mean = x.mean(), y.mean()
    slope = float(((x - x_mean) * (y - y_mean)).sum() / ((x - x_mean) ** 2).sum())
    intercept = float(y_mean - slope * x_mean)
    around = float(((y - y_mean) ** 2).sum())
    left = float(((y - intercept - slope * x) ** 2).sum())
    # All frequencies equal: a line of slope 0 fits without error, and there is no variance to explain.
    r_squared = 1.0 - left / around if y.max() > y.min() else 1.0
    return PowerLaw(-slope + 0.0, math.exp(intercept), r_squared, first, last)


def coupon_collector(vocabulary: int, terms_per_document: float, documents: int) -> float:
    """Equation 11: active terms after `documents` documents that each draw evenly from `vocabulary` terms."""
    if vocabulary < 1 or not 0 <= terms_per_document <= vocabulary or documents < 0:
        raise InvalidInput(
            f"{documents} documents of {terms_per_document} terms each out of {vocabulary} cannot be: a document has "
            "between none and all of the terms"
        )
    if terms_per_document == vocabulary:
        return float(vocabulary) if documents else 0.0
    return -vocabulary * math.expm1(documents * math.log1p(-terms_per_document / vocabulary))


def expected_operations(
    documents: int,
    terms_per_document: float,
    active: int,
    *,
    terms_per_query: float | None = None,
    per_posting: float = OPERATIONS_PER_POSTING,
) -> float:
    """Equation 10: C * L_q * N * L_0 / V_active; a query has as many terms as a document unless told otherwise."""
    if active < 1:
        return 0.0
    per_query = terms_per_document if terms_per_query is None else terms_per_query
    return per_posting * per_query * documents * terms_per_document / active


def smoothed_idf(df: npt.ArrayLike, documents: int) -> Floats:
    """ln(1 + (N - df + 0.5) / (df + 0.5))."""
    values = np.asarray(df, np.float64)
    return np.log1p((documents - values + 0.5) / (values + 0.5))


def zipf_report(
    df: npt.ArrayLike,
    documents: int,
    *,
    name: str = "",
    vocabulary: int | None = None,
    ranks: tuple[int, int | None] = (1, None),
    queries: Iterable[Mapping[Any, float] | Iterable[Any]] | None = None,
    frequency: Mapping[Any, int] | None = None,
) -> ZipfReport:
    """Everything about one distribution.

    Parameters
    ----------
    df
        Documents of each term; terms without documents may be among them.
    documents
        Documents in all, those without any term included.
    vocabulary
        Terms there could be; None for an open vocabulary.
    ranks
        First and last rank of the fit.
    queries
        Terms of real queries, whose postings are counted with `frequency` (term -> documents).
    """
    found = rank_frequency(df)
    if documents < 0 or (len(found) and int(found[0]) > documents):
        raise InvalidInput(f"a term is in {int(found[0]) if len(found) else 0} of {documents} documents")
    if vocabulary is not None and len(found) > vocabulary:
        raise InvalidInput(f"{len(found):,} terms have documents, but the vocabulary has only {vocabulary:,}")
    active, postings = len(found), int(found.sum())
    per_document = postings / documents if documents else 0.0
    expected = expected_operations(documents, per_document, active, per_posting=1.0)
    return ZipfReport(
        name=name,
        documents=documents,
        postings=postings,
        vocabulary=vocabulary,
        active=active,
        coupon_collector=None if vocabulary is None else coupon_collector(vocabulary, per_document, documents),
        terms_per_document=per_document,
        fit=fit_power_law(found, ranks),
        head_share=_share(found > HEAD_SHARE * documents),
        tail_share=_share(found < TAIL_SHARE * documents),
        telling_share=_share(smoothed_idf(found, documents) > TELLING_IDF),
        expected_postings=expected,
        counted_postings=float((found.astype(np.float64) ** 2).sum() / documents) if documents else 0.0,
        expected_operations=OPERATIONS_PER_POSTING * expected,
        query_postings=None if queries is None else _counted(queries, frequency or {}),
    )


def _share(mask: npt.NDArray[np.bool_]) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def _counted(queries: Iterable[Iterable[Any]], frequency: Mapping[Any, int]) -> float | None:
    rows = [sum(frequency.get(term, 0) for term in set(query)) for query in queries]
    return float(np.mean(rows)) if rows else None


ROWS: tuple[tuple[str, str], ...] = (
    ("documents", "documents"),
    ("active", "terms in use"),
    ("vocabulary", "terms there are"),
    ("coupon_collector", "in use, coupon collector (eq. 11)"),
    ("terms_per_document", "terms per document"),
    ("exponent", "fitted exponent"),
    ("r_squared", "R^2 of the fit, all ranks"),
    ("head_share", "head: in > 50 % of documents"),
    ("tail_share", "tail: in < 10 % of documents"),
    ("telling_share", "idf > 2"),
    ("expected_postings", "postings a query, even lists (eq. 10)"),
    ("counted_postings", "postings a query, counted"),
    ("query_postings", "postings a real query, counted"),
    ("expected_operations", "operations a query (eq. 10, C = 5)"),
)
"""Field and name of each line of the table."""

_SHARES = frozenset({"head_share", "tail_share", "telling_share"})


def zipf_table(reports: Iterable[ZipfReport]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows of the distributions side by side; a line that no distribution has is left out."""
    columns = list(reports)
    values = [{**r.to_dict(), **(asdict(r.fit) if r.fit else {})} for r in columns]
    rows = []
    for key, title in ROWS:
        if any(column.get(key) is not None for column in values):
            rows.append([title, *(_cell(key, column.get(key)) for column in values)])
    return ["", *(r.name for r in columns)], rows


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key in _SHARES:
        return f"{100 * value:.2f} %"
    if key in ("exponent", "r_squared"):
        return f"{value:.3f}"
    if key == "terms_per_document":
        return f"{value:,.1f}"
    return f"{value:,.0f}"
