"""tantivy (Rust): block-max WAND, k1 = 1.2 and b = 0.75 built in, lengths rounded to 8 bits, whole-number tf."""

from __future__ import annotations

from typing import Any

import numpy as np
import tantivy

from benchmarks.engines.base import Engine, Unsuitable
from benchmarks.workloads import Workload


class Tantivy(Engine):
    scores = "its own: k1 1.2, b 0.75, 8-bit lengths, tf rounded to whole numbers"

    def build(self, workload: Workload) -> None:
        if not np.all(workload.q_weights == 1.0):
            raise Unsuitable("needs whole-number term frequencies")
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("terms", stored=False, tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        index = tantivy.Index(self._schema, path=str(self.folder))
        # one thread and room for everything: one segment, document numbers as given
        writer = index.writer(heap_size=1_500_000_000, num_threads=1)
        names = np.array([f"{t} " for t in range(self.shape.n_terms)], object)
        tf = np.maximum(np.rint(workload.values), 1).astype(np.int64)
        for d in range(workload.n_docs):
            part = slice(workload.indptr[d], workload.indptr[d + 1])
            text = "".join(np.repeat(names[workload.indices[part]], tf[part]))
            writer.add_document(tantivy.Document(terms=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()
        if self._searcher.num_segments != 1:
            raise Unsuitable(f"{self._searcher.num_segments} segments: document numbers are not those given")

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "terms", str(t), "freq"))
            for t in terms.tolist()
        ]
        found = self._searcher.search(tantivy.Query.boolean_query(clauses), k, count=False)
        return [address.doc for _, address in found.hits]

    def nbytes(self) -> int:
        return self.folder_bytes()
