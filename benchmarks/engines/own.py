"""zipfian itself, through its public interface; impacts are cached as 8-bit numbers, hits rescored from tf and norm."""

from __future__ import annotations

from typing import Any

import zipfian as zf
from benchmarks.engines.base import Engine
from benchmarks.workloads import Workload


class Zipfian(Engine):
    scores = "bm25, given tf; 8-bit impacts cached, hits rescored from tf and norm"

    def warm(self, workload: Workload) -> None:
        end = int(workload.indptr[100])
        arrays = workload.indptr[:101], workload.indices[:end], workload.values[:end]
        index = zf.SparseIndex.from_csr(*arrays, self.shape.n_terms)
        index.search(*workload.query(0), k=10)

    def build(self, workload: Workload) -> None:
        self._index = zf.SparseIndex.from_csr(
            workload.indptr, workload.indices, workload.values, self.shape.n_terms,
            scoring=zf.BM25(k1=self.shape.k1, b=self.shape.b),
        )  # fmt: skip

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        return self._index.search(terms, weights, k)[0]

    def batch(self, workload: Workload, n: int, k: int, threads: int) -> Any:
        end = int(workload.q_indptr[n])
        return self._index.search_batch(
            workload.q_indptr[: n + 1], workload.q_terms[:end], workload.q_weights[:end], k, threads=threads
        )

    def nbytes(self) -> int:
        return self._index.nbytes
