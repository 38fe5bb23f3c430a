"""PISA (C++) through pyterrier-pisa: compressed blocks, block-max pruning, whole-number tf (here: hundredths)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyterrier_pisa
from pyterrier_pisa import _pisathon

from benchmarks.engines.base import Engine, whole
from benchmarks.workloads import Workload


class Pisa(Engine):
    scores = "bm25 in float32, tf in hundredths"
    algorithm = "block_max_wand"

    def build(self, workload: Workload) -> None:
        tf, scale = whole(workload.values)
        index = pyterrier_pisa.PisaIndex(str(self.folder / "index"), stemmer="none", stops="none", threads=1)

        def documents() -> Iterator[dict[str, Any]]:
            for d in range(workload.n_docs):
                part = slice(workload.indptr[d], workload.indptr[d + 1])
                names = [f"t{t}" for t in workload.indices[part].tolist()]
                yield {"docno": str(d), "toks": dict(zip(names, tf[part].tolist(), strict=True))}

        index.toks_indexer(scale=1.0).index(documents())
        # tf and k1 scaled alike: the same scores
        self._ranker = index.bm25(
            k1=self.shape.k1 * scale, b=self.shape.b, num_results=10, threads=1, query_algorithm=self.algorithm,
            query_weighted=True,
        )  # fmt: skip

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        """The extension is called directly: a data frame per query would cost more than the search."""
        query = {f"t{t}": w for t, w in zip(terms.tolist(), weights.tolist(), strict=True)}
        rows, names = np.empty(k, np.int32), np.empty(k, object)
        ranks, scores = np.empty(k, np.int32), np.empty(k, np.float32)
        n = _pisathon.retrieve(
            self._ranker._ctxt, self.algorithm, [(0, query)], k=k, threads=1, query_weighted=1, pretokenised=True,
            result_qidxs=rows, result_docnos=names, result_ranks=ranks, result_scores=scores,
        )  # fmt: skip
        return [int(name) for name in names[:n][np.argsort(ranks[:n])]]

    def nbytes(self) -> int:
        return self.folder_bytes()


class PisaMaxScore(Pisa):
    algorithm = "block_max_maxscore"
