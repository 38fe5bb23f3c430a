"""Segments of random postings for the tests of the searcher, and plain-Python scores to compare with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import zipfian as zf
from zipfian.index.field import FieldWriteSpec
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.retrieve.scoring import Scoring
from zipfian.storage.directory import FSDirectory
from zipfian.types import FieldBatch, SegmentBatch

Row = dict[Any, float]


def random_rows(seed: int, n_docs: int, n_terms: int, mean: float) -> list[Row]:
    """Documents {term: weight in 64ths}; frequent terms are in most documents, so that every kind of list occurs."""
    rng = np.random.default_rng(seed)
    share = np.minimum(0.6, mean / (np.arange(n_terms) + 1) / np.log(n_terms + 1))
    rows: list[Row] = [{} for _ in range(n_docs)]
    for term in range(n_terms):
        docs = np.flatnonzero(rng.random(n_docs) < share[term])
        for doc, weight in zip(docs.tolist(), (rng.geometric(0.05, len(docs)) / 64).tolist(), strict=True):
            rows[doc][term] = weight
    return rows


def field_batch(rows: list[Row], spec: FieldWriteSpec) -> FieldBatch:
    terms = sorted({term for row in rows for term in row})
    number = {term: i for i, term in enumerate(terms)}
    indices = np.array([number[t] for row in rows for t in sorted(row)], np.int32)
    weights = np.array([row[t] for row in rows for t in sorted(row)], np.float64)
    tf = weights.astype(np.float32) if spec.tf == "float32" else np.rint(weights * spec.scale).astype(np.uint32)
    named: Any = terms if terms and isinstance(terms[0], str) else np.array(terms, np.int64)
    return FieldBatch(np.cumsum([0, *map(len, rows)]).astype(np.int64), named, indices, tf)


def write(
    folder: Path, parts: list[list[Row]], spec: FieldWriteSpec, deleted: list[list[int]] | None = None, field: str = "t"
) -> list[SegmentReader]:
    """One segment for each part; None instead of rows: a segment without the field, of three documents."""
    directory = FSDirectory(folder)
    directory.prepare()
    readers = []
    for i, rows in enumerate(parts):
        n = 3 if rows is None else len(rows)
        batch = SegmentBatch(
            [f"{i}-{d}" for d in range(n)],
            [None] * n,
            [{}] * n,
            {} if rows is None else {field: field_batch(rows, spec)},
        )
        fields = {} if rows is None else {field: spec}
        reader = SegmentReader(directory, write_segment(directory, f"s{i:08d}-{i:08x}", batch, fields, {}))
        if deleted is not None and deleted[i]:
            reader = SegmentReader(directory, delete_documents(directory, reader, np.array(deleted[i])))
        readers.append(reader)
    return readers


class Witness:
    """Scores by the formulas as they are written down, in plain Python, one document at a time."""

    def __init__(self, rows: list[Row | None], formula: Scoring, dropped: frozenset[Any] = frozenset()) -> None:
        """`rows` are all documents in order; None for a deleted one."""
        self.formula = formula
        self.phi = {"identity": 1.0, "sqrt": 0.5}.get(str(formula.phi)) or float(
            str(formula.phi).removeprefix("power:")
        )
        self.rows = [
            None if row is None else {t: w**self.phi for t, w in row.items() if t not in dropped} for row in rows
        ]
        live = [row for row in self.rows if row is not None]
        self.n = len(live)
        self.df: dict[Any, int] = {}
        for row in live:
            for term in row:
                self.df[term] = self.df.get(term, 0) + 1
        self.mean = sum(sum(row.values()) for row in live) / self.n if live else 0.0

    def scores(self, query: Row) -> list[float]:
        return [0.0 if row is None else self.score(query, row) for row in self.rows]

    def score(self, query: Row, row: Row) -> float:
        given = {t: w**self.phi for t, w in query.items() if t in self.df}
        if isinstance(self.formula, zf.Dot):
            return sum(w * row[t] for t, w in given.items() if t in row)
        if isinstance(self.formula, zf.TfIdf):
            left, right = self._vector(given), self._vector(row)
            size = math.sqrt(sum(v * v for v in left.values())) * math.sqrt(sum(v * v for v in right.values()))
            return sum(v * right[t] for t, v in left.items() if t in right) / size if size else 0.0
        return sum(w * self._bm25(t, row) for t, w in given.items() if t in row)

    def _vector(self, weights: Row) -> Row:
        return {
            t: max(0.0, 1 + math.log(w)) * max(0.0, math.log(self.n / (1 + self.df[t]))) for t, w in weights.items()
        }

    def _bm25(self, term: Any, row: Row) -> float:
        f, n, df, x = self.formula, self.n, self.df[term], row[term]
        assert isinstance(f, zf.BM25)
        idf = {
            "zipfian": math.log(1 + (n - df + 0.5) / (df + 0.5)), "lucene": math.log(1 + (n - df + 0.5) / (df + 0.5)),
            "robertson": math.log((n - df + 0.5) / (df + 0.5)), "atire": math.log(n / df),
            "bm25l": math.log((n + 1) / (df + 0.5)), "bm25+": math.log((n + 1) / df),
        }[f.variant]  # fmt: skip
        idf = max(0.0, idf)
        k = 1 - f.b + f.b * sum(row.values()) / self.mean
        if f.variant == "bm25l":
            c = x / k + (0.5 if f.delta is None else f.delta)
            return idf * (f.k1 + 1) * c / (f.k1 + c)
        plain = x / (x + f.k1 * k)
        if f.variant == "lucene":
            return idf * plain
        extra = (1.0 if f.delta is None else f.delta) if f.variant == "bm25+" else 0.0
        return idf * ((f.k1 + 1) * plain + extra)
