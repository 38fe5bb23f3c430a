"""The engine without files: exact BM25 or dot products over any sparse vectors, one query or many."""

import numpy as np

import zipfian as zf

# 10,000 documents over 2,000 features, 1 to 30 each, as rows of a compressed sparse matrix.
rng = np.random.default_rng(0)
rows = [np.unique(rng.zipf(1.4, 30) % 2_000) for _ in range(10_000)]
indptr = np.cumsum([0, *map(len, rows)])
indices = np.concatenate(rows)
weights = rng.exponential(1.0, len(indices)).astype(np.float32) + 0.01

index = zf.SparseIndex.from_csr(indptr, indices, weights, n_terms=2_000, scoring=zf.BM25(k1=1.5, b=0.75))
print(f"{len(index):,} documents in {index.nbytes / 1e6:.1f} MB")

ids, scores = index.search([3, 17, 256], weights=[1.0, 0.5, 2.0], k=3)
print("one query: ", list(zip(ids.tolist(), scores.round(3).tolist(), strict=True)))

# Many queries at once, as rows again; places that stay empty hold the id -1.
queries = [[3, 17, 256], [1999], [5, 6, 7, 8]]
starts = np.cumsum([0, *map(len, queries)])
ids, scores = index.search_batch(starts, np.concatenate(queries), k=3, threads=2)
print("many:      ", ids.tolist())

# The documents that may be found, as one bool each.
even = np.arange(len(index)) % 2 == 0
ids, _ = index.search([3, 17, 256], k=3, mask=even)
print("even only: ", ids.tolist())

dot = zf.SparseIndex.from_csr(indptr, indices, weights, n_terms=2_000, scoring=zf.Dot())
print("dot:       ", dot.search([3, 17, 256], k=3)[0].tolist())
