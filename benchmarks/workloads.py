"""Synthetic collections of three shapes, the same on every run: visual words, latent text, lexical.

visual   16 of 18,432 terms per document; weights in hundredths; queries of 16 terms, all of weight 1
latent   about 150 of 32,768 terms; real weights; queries of about 60 weighted terms
lexical  about 40 words of a Zipfian vocabulary of 200,000; counts; queries of 3 to 8 words of one document

real     not synthetic: latent terms of texts and of their own queries, made by `benchmarks.real`

Documents of the first two have a topic: most of their terms come from the topic's own small set, the rest from all
terms by a Zipf law. So lists have realistic lengths *and* terms occur together.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

QUERIES = 1000
VERSION = 1
"""Change with the generators: old files are then not used."""


@dataclass(frozen=True)
class Shape:
    """Parameters of a generator, and the BM25 settings that go with the data."""

    kind: str
    n_docs: int
    n_terms: int
    k1: float
    b: float
    seed: int


SHAPES = {
    "visual-100k": Shape("visual", 100_000, 18_432, 1.5, 0.75, 1),
    "visual-1m": Shape("visual", 1_000_000, 18_432, 1.5, 0.75, 1),
    "latent-200k": Shape("latent", 200_000, 32_768, 8.0, 0.7, 2),
    "lexical-1m": Shape("lexical", 1_000_000, 200_000, 1.2, 0.75, 3),
    "real": Shape("real", 0, 16_384, 4.0, 0.7, 0),
    "visual-10m": Shape("visual", 10_000_000, 18_432, 1.5, 0.75, 1),
    "latent-10k": Shape("latent", 10_000, 32_768, 8.0, 0.7, 2),
    "latent-100k": Shape("latent", 100_000, 32_768, 8.0, 0.7, 2),
    "latent-1m": Shape("latent", 1_000_000, 32_768, 8.0, 0.7, 2),
    "lexical-10k": Shape("lexical", 10_000, 200_000, 1.2, 0.75, 3),
    "lexical-100k": Shape("lexical", 100_000, 200_000, 1.2, 0.75, 3),
    "lexical-10m": Shape("lexical", 10_000_000, 200_000, 1.2, 0.75, 3),
    "visual-10k": Shape("visual", 10_000, 18_432, 1.5, 0.75, 1),
    "latent-5k": Shape("latent", 5_000, 32_768, 8.0, 0.7, 2),
    "lexical-20k": Shape("lexical", 20_000, 200_000, 1.2, 0.75, 3),
}
MAIN = ("visual-100k", "visual-1m", "latent-200k", "lexical-1m")
SMALL = ("visual-10k", "latent-5k", "lexical-20k")


@dataclass(frozen=True)
class Workload:
    """Documents and queries as CSR rows."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    q_indptr: npt.NDArray[np.int64]
    q_terms: npt.NDArray[np.int32]
    q_weights: npt.NDArray[np.float32]

    def query(self, i: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        part = slice(self.q_indptr[i], self.q_indptr[i + 1])
        return self.q_terms[part], self.q_weights[part]

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1


def data_folder() -> Path:
    """Where generated workloads are kept: $ZIPFIAN_BENCH_DATA, or a folder for temporary files."""
    chosen = os.environ.get("ZIPFIAN_BENCH_DATA")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / "zipfian-benchmarks"


def load(name: str) -> Workload:
    """A workload by name, generated on first use."""
    folder = _stored(name)
    return Workload(**{f.name: np.load(folder / f"{f.name}.npy") for f in fields(Workload)})


def load_read_only(name: str) -> Workload:
    """The same without reading it: its arrays are files, and what is not looked at takes no memory."""
    folder = _stored(name)
    return Workload(**{f.name: np.load(folder / f"{f.name}.npy", mmap_mode="r") for f in fields(Workload)})


def _stored(name: str) -> Path:
    """Where a workload is, generated on first use."""
    shape = SHAPES[name]
    folder = data_folder() / f"{name}-v{VERSION}"
    if not folder.exists():
        save(name, generate(shape))
    return folder


def save(name: str, made: Workload) -> None:
    """Keep a workload under its name."""
    folder = data_folder() / f"{name}-v{VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent))
    for field in fields(Workload):
        np.save(part / f"{field.name}.npy", getattr(made, field.name))
    try:
        part.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(part)


def generate(shape: Shape) -> Workload:
    if shape.kind == "real":
        raise FileNotFoundError("the workload of real texts is made by `python -m benchmarks.real FOLDER ...`")
    rng = np.random.default_rng([shape.seed, shape.n_docs])
    if shape.kind == "lexical":
        return _lexical(rng, shape)
    if shape.kind == "visual":
        topics = _Topics(rng, shape.n_terms, min(2_000, shape.n_docs), 60)
        docs = _topical(rng, topics, np.full(shape.n_docs, 16), own=0.62)
        queries = _topical(rng, topics, np.full(QUERIES, 16), own=0.62)
        values = np.maximum(np.rint(docs[2] * 100), 1).astype(np.float32) / np.float32(100)
        return Workload(docs[0], docs[1], values, queries[0], queries[1], np.ones(len(queries[1]), np.float32))
    topics = _Topics(rng, shape.n_terms, min(2_000, shape.n_docs), 400)
    docs = _topical(rng, topics, _lengths(rng, shape.n_docs, 150, 40), own=0.6)
    queries = _topical(rng, topics, _lengths(rng, QUERIES, 60, 15), own=0.6)
    return Workload(*docs[:2], np.sqrt(docs[2]), *queries[:2], np.sqrt(queries[2]))


def _lengths(rng: np.random.Generator, n: int, mean: int, deviation: int) -> npt.NDArray[np.int64]:
    drawn = np.rint(rng.normal(mean, deviation, n)).astype(np.int64)
    return np.clip(drawn, mean // 4, 2 * mean)


def _zipf(n: int, exponent: float, shift: float) -> npt.NDArray[np.float64]:
    """Cumulative shares of ranks 1 .. n."""
    share = (np.arange(1, n + 1) + shift) ** -exponent
    return np.cumsum(share / share.sum())


class _Topics:
    """Which terms a topic prefers, how popular topics are, and how frequent terms are overall."""

    def __init__(self, rng: np.random.Generator, n_terms: int, n_topics: int, own_terms: int) -> None:
        self.by_rank = rng.permutation(n_terms).astype(np.int32)
        share = (np.arange(n_terms) + 20.0) ** -0.7
        share /= share.sum()
        # Gumbel noise on log shares: the top entries are a weighted sample without replacement
        self.own = np.empty((n_topics, own_terms), np.int32)
        for t in range(n_topics):
            noisy = np.log(share) + rng.gumbel(size=n_terms)
            self.own[t] = self.by_rank[np.argpartition(-noisy, own_terms)[:own_terms]]
        self.own_shares = _zipf(own_terms, 0.7, 0.0)
        self.topic_shares = _zipf(n_topics, 0.5, 20.0)
        self.term_shares = _zipf(n_terms, 1.2, 2.0)


def _topical(
    rng: np.random.Generator, topics: _Topics, lengths: npt.NDArray[np.int64], own: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Rows of distinct ascending terms with log-normal weights, strong where the term belongs to the topic."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.empty(indptr[-1], np.int32)
    values = np.empty(indptr[-1], np.float32)
    width = int(lengths.max()) * 3
    step = max(1, 4_000_000 // width)
    for first in range(0, len(lengths), step):
        n = lengths[first : first + step]
        terms, strong = _draw(rng, topics, len(n), width, own)
        keep = _first_distinct(rng, terms, n, len(topics.by_rank))
        part = slice(indptr[first], indptr[first + len(n)])
        row = np.repeat(np.arange(len(n)), n)
        chosen, boost = terms[keep], strong[keep]
        order = np.lexsort((chosen, row))
        indices[part] = chosen[order]
        noise = rng.standard_normal(len(row)) * 0.6 + np.repeat(rng.standard_normal(len(n)) * 0.15, n)
        values[part] = np.exp(0.4 + 0.35 * boost[order] + noise)
    return indptr, indices, values


def _draw(rng: np.random.Generator, topics: _Topics, rows: int, width: int, own: float) -> tuple[Any, Any]:
    """Candidate terms of each row, in the order drawn, and whether each came from the row's topic."""
    topic = np.searchsorted(topics.topic_shares, rng.random(rows))
    strong = rng.random((rows, width)) < own
    terms = topics.by_rank[
        np.searchsorted(topics.term_shares, rng.random((rows, width))).clip(max=len(topics.by_rank) - 1)
    ]
    place = np.searchsorted(topics.own_shares, rng.random((rows, width))).clip(max=topics.own.shape[1] - 1)
    return np.where(strong, topics.own[topic[:, None], place], terms), strong


def _first_distinct(rng: np.random.Generator, terms: Any, lengths: Any, n_terms: int) -> Any:
    """A mask of the first `lengths` different terms of every row; rows that fall short get random ones drawn in."""
    while True:
        order = np.argsort(terms, axis=1, kind="stable")
        ordered = np.take_along_axis(terms, order, 1)
        fresh_ordered = np.ones(terms.shape, np.bool_)
        fresh_ordered[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        fresh = np.empty_like(fresh_ordered)
        np.put_along_axis(fresh, order, fresh_ordered, 1)
        seen = np.cumsum(fresh, axis=1)
        short = np.flatnonzero(seen[:, -1] < lengths)
        if not len(short):
            return fresh & (seen <= lengths[:, None])
        repeats = ~fresh[short]
        replaced = terms[short]
        replaced[repeats] = rng.integers(0, n_terms, int(repeats.sum()))
        terms[short] = replaced


def _lexical(rng: np.random.Generator, shape: Shape) -> Workload:
    """Bags of words: term id = popularity rank. One token in eight repeats an earlier one of its document."""
    lengths = np.clip(40 * np.exp(0.35 * rng.standard_normal(shape.n_docs) - 0.06), 4, 400).astype(np.int64)
    shares = _zipf(shape.n_terms, 1.07, 0.0)
    rows: list[Any] = []
    step = 100_000
    for first in range(0, shape.n_docs, step):
        n = lengths[first : first + step]
        start = np.repeat(np.cumsum(n) - n, n)
        place = np.arange(int(n.sum())) - start
        words = np.searchsorted(shares, rng.random(len(place))).clip(max=shape.n_terms - 1)
        again = (rng.random(len(place)) < 0.125) & (place > 0)
        earlier = start + (rng.random(len(place)) * place).astype(np.int64)
        words = np.where(again, words[earlier], words)
        key, count = np.unique(np.repeat(np.arange(len(n)), n) * shape.n_terms + words, return_counts=True)
        distinct = np.bincount(key // shape.n_terms, minlength=len(n))
        rows.append((distinct, (key % shape.n_terms).astype(np.int32), count.astype(np.float32)))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([r[0] for r in rows]))]).astype(np.int64)
    indices, values = (np.concatenate([r[i] for r in rows]) for i in (1, 2))
    queries: list[Any] = []
    while len(queries) < QUERIES:
        d = int(rng.integers(shape.n_docs))
        words = indices[indptr[d] : indptr[d + 1]]
        words = words[words >= 20]  # a user does not type the 20 most frequent words
        if len(words) >= 8:
            queries.append(np.sort(rng.choice(words, int(rng.integers(3, 9)), replace=False)))
    q_indptr = np.concatenate([[0], np.cumsum([len(q) for q in queries])]).astype(np.int64)
    q_terms = np.concatenate(queries).astype(np.int32)
    return Workload(indptr, indices, values, q_indptr, q_terms, np.ones(len(q_terms), np.float32))
