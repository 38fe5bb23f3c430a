"""Effectiveness against effort for surrogate text by scalar quantisation: mAP over S_DB, beside IVF-PQ and brute force.

S_DB is the share of the database's numbers that a query reads. A sequential scan reads all N x D: 1. An inverted file
reads the lists of the query's terms: sum of their lengths / (N x D). IVF-PQ reads the vectors of the probed lists:
their number / N. Each method's curve comes from its own knob: gamma, or the number of probed lists. The share of
*documents* that a query touches, another thing, is `documents_touched` of `zipfian.evaluate.cost`.

mAP is the area under the precision-recall curve, as the paper has it and as the tool of the Oxford set measures it: the
curve goes straight from the precision before a relevant document to that after it. `zipfian eval` has average precision
by steps, which takes the precision after it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.datasets.base import half_of
from zipfian.limits import MAX_FIXED_STEPS
from zipfian.retrieve.scoring import BM25
from zipfian.vocabulary.scalar import ScalarVocabulary

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Relevant = npt.NDArray[np.bool_]
"""(queries, documents)."""

GAMMAS = (10.0, 14.0, 18.0, 22.0, 26.0, 30.0, 40.0, 60.0, 100.0)
NPROBES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Vectors to search, vectors to search with, and what is relevant."""

    documents: F32
    queries: F32
    relevant: Relevant
    names: Sequence[str] = ()
    """What the half of each query goes by; places where none are given."""
    ignored: Sequence[frozenset[int]] = field(default_factory=tuple)
    """Documents left out of each query's ranking, such as the query picture itself."""

    def __post_init__(self) -> None:
        shape = (len(self.queries), len(self.documents))
        if self.relevant.shape != shape:
            raise InvalidInput(
                f"judgements of shape {self.relevant.shape} for {shape[0]} queries, {shape[1]} documents"
            )
        for name in ("names", "ignored"):
            if len(getattr(self, name)) not in (0, shape[0]):
                raise InvalidInput(f"{len(getattr(self, name))} {name} for {shape[0]} queries")

    @property
    def even(self) -> npt.NDArray[np.bool_]:
        """Queries whose name has an even sha1."""
        names = self.names or [str(i) for i in range(len(self.queries))]
        return np.array([half_of(name) == "even" for name in names], np.bool_)


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
    """Over queries whose name has an even or an odd sha1."""
    map_steps: float = 0.0
    """Mean average precision by steps, as `zipfian eval` has it."""
    postings: float = 0.0
    """Terms of a document, for inverted files."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def average_precisions(ranked: Iterable[Ints], relevant: Relevant) -> F64:
    """Of each query the area under its precision-recall curve, and its average precision by steps: (2, queries).

    Documents that were not retrieved count as never found.
    """
    out = np.zeros((2, len(relevant)))
    for i, order in enumerate(ranked):
        places = np.flatnonzero(relevant[i, order])
        total = int(relevant[i].sum())
        if total:
            found = np.arange(len(places))
            after = (found + 1.0) / (places + 1.0)
            before = np.where(places > 0, found / np.maximum(places, 1), 1.0)
            out[:, i] = float(np.sum(before + after)) / 2.0 / total, float(np.sum(after)) / total
    return out


def brute_force(sets: Sets) -> Point:
    """The exact ranking of all documents."""
    scores = sets.queries @ sets.documents.T
    return _point("brute force", "", 0.0, 1.0, (np.argsort(-row, kind="stable") for row in scores), sets)


def scalar_points(
    sets: Sets, *, gammas: Sequence[float] = GAMMAS, scale: float = 200.0, crelu: bool = True,
    scoring: Literal["dot", "bm25"] = "dot", seed: int = 0,
) -> Iterator[Point]:  # fmt: skip
    """The curve of scalar quantisation; the mean comes from the documents, nothing else is learnt."""
    documents, queries = sets.documents, sets.queries
    base = ScalarVocabulary.fit([documents], scale=scale, crelu=crelu, seed=seed)
    name = f"SQ {'CReLU' if crelu else 'plain'}{', BM25' if scoring == 'bm25' else ''}"
    rotated = [np.stack([base.rotation @ v for v in vectors]) for vectors in (documents - base.mean, queries)]
    for gamma in gammas:
        rows, asked = (frequencies(base.with_settings(gamma=gamma), w) for w in rotated)
        touched = float(((asked > 0) @ np.count_nonzero(rows, axis=0).astype(np.float64)).mean())
        weighted = _bm25(rows) if scoring == "bm25" else rows
        scores = asked @ weighted.T
        yield _point(
            name, "gamma", gamma, touched / documents.size, (_retrieved(row) for row in scores), sets,
            np.count_nonzero(rows) / len(documents),
        )  # fmt: skip


def ivfpq_points(
    sets: Sets, training: F32, *, name: str, lists: int = 64, parts: int = 64, nprobes: Sequence[int] = NPROBES,
) -> Iterator[Point]:  # fmt: skip
    """The curve of FAISS IVF-PQ trained on given vectors."""
    try:
        import faiss
    except ImportError:
        raise MissingExtra("IVF-PQ", "faiss") from None
    documents, queries = sets.documents, sets.queries
    dim = documents.shape[1]
    if dim % parts:
        raise InvalidInput(f"vectors of {dim} numbers cannot be cut into {parts} parts")
    quantiser = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFPQ(quantiser, dim, lists, parts, 8, faiss.METRIC_INNER_PRODUCT)
    index.verbose = False
    for clustering in (index.cp, index.pq.cp):
        clustering.min_points_per_centroid = 1  # small sets train on what they have; the table says how much that is
    index.train(training)
    index.add(documents)
    held: Any = index.invlists
    sizes = np.array([held.list_size(i) for i in range(lists)])
    for nprobe in nprobes:
        index.nprobe = nprobe
        _, probed = quantiser.search(queries, nprobe)
        share = float(sizes[probed].sum(axis=1).mean()) / len(documents)
        _, found = index.search(queries, len(documents))
        yield _point(name, "nprobe", nprobe, share, (row[row >= 0] for row in found), sets)


def nearest(documents: F32, queries: F32, k: int, exclude: Callable[[int], int] | None = None) -> Relevant:
    """For sets without labels: a query's k nearest documents by brute force count as relevant."""
    scores = queries @ documents.T
    out = np.zeros(scores.shape, np.bool_)
    for i, row in enumerate(scores):
        if exclude is not None and exclude(i) >= 0:
            row[exclude(i)] = -np.inf
        out[i, np.argsort(-row, kind="stable")[:k]] = True
    return out


def frequencies(vocabulary: ScalarVocabulary, rotated: F32) -> F32:
    """The terms of rotated vectors as a full matrix: sets for evaluation are small, and rotating is what takes long."""
    positive = np.concatenate([rotated, -rotated], axis=1) if vocabulary.crelu else rotated
    steps = np.minimum(np.floor(positive.astype(np.float64) * vocabulary.scale), MAX_FIXED_STEPS)
    out: F32 = np.where(positive > 1.0 / vocabulary.gamma, steps, 0.0).astype(np.float32)
    return out


def _bm25(rows: F32) -> F32:
    """The same postings under BM25, saturation on the scale of the mean frequency."""
    formula = BM25(k1=1.5, b=0.75)
    there = rows > 0
    k1 = formula.k1 * (float(rows[there].mean()) if there.any() else 1.0)
    lengths = rows.sum(axis=1, dtype=np.float64)
    norm = k1 * (1.0 - formula.b + formula.b * lengths / max(float(lengths.mean()), 1e-30))
    idf = formula.idf(there.sum(axis=0).astype(np.float64), len(rows))
    out: F32 = (idf * (formula.k1 + 1.0) * rows / (rows + norm[:, None])).astype(np.float32)
    return out


def _retrieved(scores: F32) -> Ints:
    found = np.flatnonzero(scores > 0.0)
    return found[np.argsort(-scores[found], kind="stable")]


def _point(
    method: str, knob: str, value: float, s_db: float, ranked: Iterable[Ints], sets: Sets, postings: float = 0.0
) -> Point:
    if sets.ignored:
        ranked = (_without(order, own) for order, own in zip(ranked, sets.ignored, strict=True))
    area, steps = average_precisions(ranked, sets.relevant)
    even = sets.even
    first, second = (float(half.mean()) if len(half) else float("nan") for half in (area[even], area[~even]))
    return Point(method, knob, float(value), s_db, float(area.mean()), first, second, float(steps.mean()), postings)


def _without(order: Ints, own: frozenset[int]) -> Ints:
    return order if not own else order[~np.isin(order, list(own))]
