"""Visual words on several kinds of pictures: which use of them holds on every kind, alone and beside the dense vector.

Every picture of a set is asked for the others (leave one out), so a set is a folder of class folders. Its pictures go
through the encoder once (the encode cache keeps what came out); after that a use of visual words is matrix work.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from experiments.base import Context, Made, Table
from zipfian.collection.encoding import arrays_of
from zipfian.encode.cache import EncodingCache
from zipfian.encode.registry import find
from zipfian.evaluate.datasets.base import half_of, picture_files
from zipfian.fields import Visual
from zipfian.fields.reader import POOLED, pooled_arrays
from zipfian.fuse.normalise import POOL
from zipfian.index.phi import apply_phi
from zipfian.retrieve.scoring import BM25, Dot
from zipfian.retrieve.sparse_index import SparseIndex
from zipfian.vocabulary import Pruning
from zipfian.vocabulary.presets import Pooling
from zipfian.vocabulary.pruning import prune_rows
from zipfian.vocabulary.quantise import fixed_steps

F32 = npt.NDArray[np.float32]
AT_ONCE = 64
RERANKED = 200
"""Candidates that two-stage search orders by cosine."""
TIMED = 30
"""Queries that are timed."""


@dataclass(frozen=True)
class Use:
    """How visual words are used: from activations to a score."""

    k: int
    pooling: Pooling
    cap: int | None
    scoring: BM25 | Dot

    def __str__(self) -> str:
        formula = self.scoring
        name = "Dot" if isinstance(formula, Dot) else f"BM25 {formula.k1:g} {formula.b:g}"
        return f"{self.pooling}, k={self.k}, {self.cap or 'all'} terms, {name}, {formula.phi}"


BEFORE = Use(16, "max", 96, BM25(8.0, 0.7))
"""As `image-11k` was used when Pets alone had chosen."""
NOW = Use(32, "sum", 384, BM25(8.0, 0.7, phi="sqrt"))
"""As it is used."""
USES = (
    BEFORE,
    Use(16, "max", 384, BM25(8.0, 0.7, phi="sqrt")),
    Use(32, "max", 384, BM25(8.0, 0.7, phi="sqrt")),
    Use(16, "sum", 96, BM25(8.0, 0.7, phi="sqrt")),
    Use(16, "sum", 384, BM25(8.0, 0.7, phi="sqrt")),
    Use(16, "sum", None, BM25(1.5, 0.75, phi="sqrt")),
    Use(32, "sum", 96, BM25(8.0, 0.7, phi="sqrt")),
    Use(32, "sum", 192, BM25(8.0, 0.7, phi="sqrt")),
    NOW,
    Use(32, "sum", 384, BM25(1.5, 0.75, phi="sqrt")),
    Use(32, "sum", 384, Dot(phi="sqrt")),
    Use(32, "sum", None, BM25(8.0, 0.7, phi="sqrt")),
)


@dataclass(frozen=True, eq=False)
class Kind:
    """Pictures of one kind, as the encoder and the autoencoder see them."""

    name: str
    classes: npt.NDArray[np.int64]
    even: npt.NDArray[np.bool_]
    """Pictures that ask where settings are chosen, by the sha1 of their file names; the others report."""
    own: npt.NDArray[np.bool_]
    """(pictures, pictures): the same bytes, so never an answer."""
    vectors: F32
    """(pictures, dimensions): pooled, of length 1."""
    terms: npt.NDArray[np.uint16]
    """(pictures, patches, k): the strongest visual words of each patch, strongest first."""
    values: F32
    """(pictures, patches, k): how strong; 0 where there is none."""

    def found(self, scores: F32) -> tuple[float, float]:
        """R@1 of the even and of the odd half."""
        best = np.where(self.own, -np.inf, scores).argmax(axis=1)
        right = self.classes[best] == self.classes
        return float(right[self.even].mean()), float(right[~self.even].mean())

    def standard(self, scores: F32) -> F32:
        """In deviations of each query's best others, as fusion has them."""
        others = np.where(self.own, -np.inf, scores)
        pool = min(POOL, others.shape[1] - int(self.own.sum(axis=1).max()))
        best = -np.partition(-others, pool - 1, axis=1)[:, :pool]
        mean, deviation = best.mean(axis=1, keepdims=True), best.std(axis=1, keepdims=True)
        out: F32 = ((scores - mean) / np.where(deviation > 0.0, deviation, 1.0)).astype(np.float32)
        return out


def load_kind(name: str, folder: Path) -> Kind:
    """Every picture below a folder, encoded; its class is the folder it lies in."""
    paths = sorted(picture_files(folder))
    classes = np.unique([path.parent.name for path in paths], return_inverse=True)[1]
    digests = np.array([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    even = np.array([half_of(path.name) == "even" for path in paths], np.bool_)
    vectors, terms, values = encoded(paths)
    return Kind(name, classes, even, digests[:, None] == digests[None, :], vectors, terms, values)


def encoded(paths: Sequence[Path]) -> tuple[F32, npt.NDArray[np.uint16], F32]:
    """Pooled vectors of pictures, and the strongest visual words of their patches."""
    field = Visual()
    vocabulary, encoder = field.vocabulary, find(field.encoder)
    form, cache = vocabulary.compact_form, EncodingCache()
    makers = {form: vocabulary.compact, POOLED: pooled_arrays}
    vectors, terms, values = [], [], []
    for start in range(0, len(paths), AT_ONCE):
        for arrays in arrays_of(encoder, makers, paths[start : start + AT_ONCE], cache):
            if not isinstance(arrays, dict):
                raise arrays
            pooled = arrays[POOLED][POOLED].astype(np.float32)
            vectors.append(pooled / np.linalg.norm(pooled))
            terms.append(arrays[form]["terms"])
            values.append(arrays[form]["values"])
    return np.stack(vectors), np.stack(terms), np.stack(values)


def bags(kind: Kind, use: Use, n_terms: int, scale: float = 100.0) -> sparse.csr_matrix:
    """(pictures, visual words): weights as a field stores them."""
    indptr, ids, weights = [0], [], []
    for row, strengths in zip(kind.terms[:, :, : use.k], kind.values[:, :, : use.k], strict=True):
        there = strengths > 0.0
        found, places = np.unique(row[there], return_inverse=True)
        pooled = np.zeros(len(found), np.float64)
        (np.add if use.pooling == "sum" else np.maximum).at(pooled, places, strengths[there])
        indptr.append(indptr[-1] + len(found))
        ids.append(found)
        weights.append(pooled)
    starts, columns, data = np.array(indptr), np.concatenate(ids).astype(np.int32), np.concatenate(weights)
    starts, columns, data = prune_rows(starts, columns, data, Pruning(top_k=use.cap))
    steps = fixed_steps(data, scale).steps.astype(np.float64) / scale
    made = sparse.csr_matrix((steps, columns, starts), shape=(len(kind.terms), n_terms))
    made.eliminate_zeros()
    return made


def scored(pictures: sparse.csr_matrix, formula: BM25 | Dot) -> F32:
    """(pictures, pictures): what an index of all scores for a query of each."""
    documents, asked = pictures.copy(), pictures.copy()
    documents.data = apply_phi(documents.data, formula.phi)
    lengths = np.asarray(documents.sum(axis=1)).ravel()
    df = np.bincount(documents.indices, minlength=documents.shape[1]).astype(np.float64)
    if isinstance(formula, BM25):
        norms = np.repeat(formula.norms(lengths, float(lengths.mean())), np.diff(documents.indptr))
        documents.data = (formula.k1 + 1.0) * documents.data / (documents.data + norms)
    asked.data = apply_phi(asked.data, formula.phi) * formula.idf(df, documents.shape[0])[asked.indices]
    columns = np.ascontiguousarray(documents.T.toarray(), np.float32)
    return np.asarray(asked.astype(np.float32) @ columns)


def price(pictures: sparse.csr_matrix, formula: BM25 | Dot) -> dict[str, float]:
    """Postings and bytes of a picture in memory, and milliseconds of processor time of a search of 100."""
    columns, data = pictures.indices.astype(np.int32), pictures.data.astype(np.float32)
    index = SparseIndex.from_csr(pictures.indptr.astype(np.int64), columns, data, pictures.shape[1], scoring=formula)
    seconds = []
    for row in range(0, pictures.shape[0], max(1, pictures.shape[0] // TIMED)):
        part = slice(pictures.indptr[row], pictures.indptr[row + 1])
        start = time.process_time()
        index.search(columns[part], weights=data[part], k=min(POOL, pictures.shape[0]))
        seconds.append(time.process_time() - start)
    n = pictures.shape[0]
    return {"postings": pictures.nnz / n, "bytes": index.nbytes / n, "search_ms": 1e3 * float(np.median(seconds[1:]))}


def visual_words(context: Context) -> Made:
    """R@1 of visual words alone and added to the dense vector, by kind of pictures and use; what each costs."""
    sets = context.others()
    if not sets:
        context.path("pets")
    n_terms = Visual().n_terms
    rows: list[dict[str, Any]] = []
    for name, folder in sets.items():
        kind = load_kind(name, folder)
        cosines = np.asarray(kind.vectors @ kind.vectors.T)
        dense, near = kind.found(cosines), kind.standard(cosines)
        rows.append({"kind": name, "use": "dense", **_halves("alone", dense)})
        for use in USES:
            pictures = bags(kind, use, n_terms)
            scores = scored(pictures, use.scoring)
            far = np.partition(-np.where(kind.own, -np.inf, scores), RERANKED, axis=1)[:, RERANKED : RERANKED + 1]
            staged = np.where(scores > -far, cosines, -1.0).astype(np.float32)
            seen = kind.standard(scores)
            rows.append(
                {
                    "kind": name, "use": str(use), **_halves("alone", kind.found(scores)),
                    **_halves("two-stage", kind.found(staged)), **_halves("added", kind.found(seen + near)),
                    **_halves("half", kind.found(0.5 * seen + near)), **price(pictures, use.scoring),
                }
            )  # fmt: skip
    rows += _worst(rows, list(sets))
    columns = list(dict.fromkeys(column for row in rows for column in row))
    notes = (
        "R@1, every picture asked for the others; alone: visual words; two-stage: their first 200 by cosine; added: "
        "z-scores of both, equal weights; half: visual words at half weight",
        "even halves (sha1 of the file name) chose, odd ones report; rows `of dense, worst kind` have the least share "
        f"of dense over the kinds. Before: {BEFORE}. Now: {NOW}",
        "postings, bytes (in memory) and search_ms (processor time, k=100) of one picture in the index of its kind",
    )
    return Made("visual-words", "Visual words on several kinds of pictures", columns, rows, notes)


def _halves(name: str, found: tuple[float, float]) -> dict[str, float]:
    return {f"{name} even": found[0], f"{name} odd": found[1]}


def _worst(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """For each use the least share of dense over the kinds, by measure."""
    dense = {row["kind"]: row for row in rows if row["use"] == "dense"}
    out = []
    for use in USES:
        part = [row for row in rows if row["use"] == str(use)]
        shares: dict[str, Any] = {"kind": "of dense, worst kind", "use": str(use)}
        for name in part[0]:
            if name.endswith((" even", " odd")):
                half = name.rpartition(" ")[2]
                shares[name] = min(row[name] / dense[row["kind"]][f"alone {half}"] for row in part)
        out.append(shares)
    return out if len(kinds) > 1 else []


TABLES = (Table("visual-words", "uses of visual words by kind of pictures", ("pets", "textures", "..."), visual_words),)
