"""Effectiveness against effort for surrogate text by scalar quantisation: mAP over S_DB, beside IVF-PQ and brute force.

S_DB is the share of the database that a query touches. A sequential scan reads all N x D numbers: 1. An inverted file
reads the lists of the query's terms: sum of their lengths / (N x D). IVF-PQ reads the vectors of the probed lists:
their number / N. Each method's curve comes from its own knob: gamma, or the number of probed lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.retrieve.scoring import BM25
from zipfian.vocabulary.scalar import ScalarVocabulary

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Relevant = npt.NDArray[np.bool_]
"""(queries, documents)."""

GAMMAS = (10.0, 14.0, 18.0, 22.0, 26.0, 30.0, 40.0, 60.0, 100.0)
NPROBES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of one method."""

    method: str
    knob: str
    value: float
    s_db: float
    map: float
    map_even: float
    map_odd: float
    """Over queries whose place is even or odd: nothing here was chosen by looking at either half."""
    postings: float = 0.0
    """Terms of a document, for inverted files."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def mean_average_precision(ranked: Iterable[Ints], relevant: Relevant) -> F64:
    """Average precision of each query; documents that were not retrieved count as never found."""
    out = np.zeros(len(relevant))
    for i, order in enumerate(ranked):
        good = relevant[i, order]
        places = np.flatnonzero(good)
        total = int(relevant[i].sum())
        if total:
            out[i] = float(np.sum(np.arange(1, len(places) + 1) / (places + 1.0))) / total
    return out


def brute_force(documents: F32, queries: F32, relevant: Relevant) -> Point:
    """The exact ranking of all documents."""
    scores = queries @ documents.T
    return _point("brute force", "", 0.0, 1.0, (np.argsort(-row, kind="stable") for row in scores), relevant)


def scalar_points(
    documents: F32, queries: F32, relevant: Relevant, *, gammas: Sequence[float] = GAMMAS, scale: float = 200.0,
    crelu: bool = True, scoring: Literal["dot", "bm25"] = "dot", seed: int = 0,
) -> Iterator[Point]:  # fmt: skip
    """The curve of scalar quantisation; the mean comes from the documents, nothing else is learnt."""
    base = ScalarVocabulary.fit([documents], scale=scale, crelu=crelu, seed=seed)
    name = f"SQ {'CReLU' if crelu else 'plain'}{', BM25' if scoring == 'bm25' else ''}"
    for gamma in gammas:
        vocabulary = base.with_settings(gamma=gamma)
        rows, asked = (_matrix(vocabulary, vectors, kind) for vectors, kind in ((documents, "d"), (queries, "q")))
        touched = float(((asked > 0) @ np.count_nonzero(rows, axis=0)).mean())
        weighted = _bm25(rows) if scoring == "bm25" else rows
        scores = asked @ weighted.T
        point = _point(
            name, "gamma", gamma, touched / documents.size, (_retrieved(row) for row in scores), relevant,
            np.count_nonzero(rows) / len(documents),
        )  # fmt: skip
        yield point


def ivfpq_points(
    documents: F32, queries: F32, relevant: Relevant, training: F32, *, name: str, lists: int = 64, parts: int = 64,
    nprobes: Sequence[int] = NPROBES,
) -> Iterator[Point]:  # fmt: skip
    """The curve of FAISS IVF-PQ trained on given vectors."""
    try:
        import faiss
    except ImportError:
        raise MissingExtra("IVF-PQ", "faiss") from None
    dim = documents.shape[1]
    if dim % parts:
        raise InvalidInput(f"vectors of {dim} numbers cannot be cut into {parts} parts")
    quantiser = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFPQ(quantiser, dim, lists, parts, 8, faiss.METRIC_INNER_PRODUCT)
    index.verbose = False
    index.train(training)
    index.add(documents)
    held: Any = index.invlists
    sizes = np.array([held.list_size(i) for i in range(lists)])
    for nprobe in nprobes:
        index.nprobe = nprobe
        _, probed = quantiser.search(queries, nprobe)
        share = float(sizes[probed].sum(axis=1).mean()) / len(documents)
        _, found = index.search(queries, len(documents))
        yield _point(name, "nprobe", nprobe, share, (row[row >= 0] for row in found), relevant)


def nearest(documents: F32, queries: F32, k: int, exclude: Callable[[int], int] | None = None) -> Relevant:
    """For sets without labels: a query's k nearest documents by brute force count as relevant."""
    scores = queries @ documents.T
    out = np.zeros(scores.shape, np.bool_)
    for i, row in enumerate(scores):
        if exclude is not None and exclude(i) >= 0:
            row[exclude(i)] = -np.inf
        out[i, np.argsort(-row, kind="stable")[:k]] = True
    return out


def _matrix(vocabulary: ScalarVocabulary, vectors: F32, kind: str) -> F64:
    """Frequencies as a full matrix: sets for evaluation are small."""
    out = np.zeros((len(vectors), vocabulary.n_terms), np.float64)
    for row, vector in zip(out, vectors, strict=True):
        found = vocabulary.terms(vector) if kind == "d" else vocabulary.query_terms(vector)
        row[found.ids] = found.weights
    return out


def _bm25(rows: F64) -> F64:
    """The same postings under BM25, saturation on the scale of the mean frequency."""
    formula = BM25(k1=1.5, b=0.75)
    there = rows > 0
    k1 = formula.k1 * (float(rows[there].mean()) if there.any() else 1.0)
    lengths = rows.sum(axis=1)
    norm = k1 * (1.0 - formula.b + formula.b * lengths / max(float(lengths.mean()), 1e-30))
    idf = formula.idf(there.sum(axis=0).astype(np.float64), len(rows))
    out: F64 = idf * (formula.k1 + 1.0) * rows / (rows + norm[:, None])
    return out


def _retrieved(scores: F64) -> Ints:
    order = np.argsort(-scores, kind="stable")
    return order[: int(np.count_nonzero(scores > 0.0))]


def _point(
    method: str, knob: str, value: float, s_db: float, ranked: Iterable[Ints], relevant: Relevant, postings: float = 0.0
) -> Point:
    ap = mean_average_precision(ranked, relevant)
    even, odd = (float(half.mean()) if len(half) else float("nan") for half in (ap[0::2], ap[1::2]))
    return Point(method, knob, float(value), s_db, float(ap.mean()), even, odd, postings)


def table(points: Iterable[Point]) -> str:
    """Markdown."""
    lines = ["| method | knob | postings/doc | S_DB | mAP |", "|---|---|---|---|---|"]
    for p in points:
        knob = f"{p.knob} {p.value:g}" if p.knob else ""
        lines.append(
            f"| {p.method} | {knob} | {f'{p.postings:.0f}' if p.postings else ''} | {p.s_db:.4f} | {p.map:.4f} |"
        )
    return "\n".join(lines)
