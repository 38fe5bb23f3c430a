"""A workload of real postings: latent terms of the texts of BEIR folders, asked with the queries that came with them.

    python -m benchmarks.real FOLDER ...

Texts that were indexed before come out of the cache of encodings; others are encoded. Weights are stored as the field
scores them, to the power of its formula.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.workloads import QUERIES, SHAPES, Workload, save
from zipfian.encode import TextEncoder
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.evaluate.datasets import load_beir
from zipfian.types import Terms
from zipfian.vocabulary.sae import SaeVocabulary

NAME = "real"
POWER = 0.65
"""Of the field's formula (`phi="power:0.65"`)."""
SEED = 16


class Reader:
    """Texts to latent terms, as a collection's field reads them."""

    def __init__(self) -> None:
        self._encoder = TextEncoder()
        self._vocabulary = SaeVocabulary.load("text-16k")
        self._cache = EncodingCache()
        if SHAPES[NAME].n_terms != self._vocabulary.n_terms:
            raise ValueError(f"the shape has {SHAPES[NAME].n_terms} terms, the vocabulary {self._vocabulary.n_terms}")

    def read(self, text: str, query: bool = False) -> Terms:
        form = self._vocabulary.compact_form
        key, content = f"{self._encoder.fingerprint}\n{form}", content_hash(text, "text")
        kept = self._cache.get(key, content)
        if kept is None:
            kept = self._vocabulary.compact(self._encoder.encode_documents([text])[0])
            self._cache.put(key, content, kept)
        return self._vocabulary.query_compact(kept) if query else self._vocabulary.from_compact(kept)


def make(folders: Iterable[Path]) -> Workload:
    """All texts of the folders, and queries drawn from all of them."""
    reader = Reader()
    texts: list[Terms] = []
    queries: list[Terms] = []
    for folder in folders:
        dataset = load_beir(folder)
        texts += (reader.read(text) for item in dataset.documents() if (text := item.get("text")))
        queries += (reader.read(query.text, query=True) for query in dataset.queries.values() if query.text)
        print(f"{folder.name}: {len(texts):,} texts, {len(queries):,} queries so far", file=sys.stderr, flush=True)
    if len(queries) < QUERIES:
        raise ValueError(f"a workload has {QUERIES:,} queries, these folders {len(queries):,}: name more of them")
    chosen = np.random.default_rng(SEED).permutation(len(queries))[:QUERIES]
    return Workload(*_rows(texts, POWER), *_rows([queries[i] for i in chosen], 1.0))


def _rows(items: list[Terms], power: float) -> Iterator[np.ndarray]:
    """CSR arrays: row starts, terms, weights."""
    yield np.cumsum([0, *map(len, items)], dtype=np.int64)
    yield np.concatenate([item.ids for item in items]).astype(np.int32)
    yield np.concatenate([item.weights for item in items]).astype(np.float32) ** np.float32(power)


if __name__ == "__main__":
    save(NAME, make(Path(name) for name in sys.argv[1:]))
