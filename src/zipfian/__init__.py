"""Every frozen encoder hides a Zipfian vocabulary. zipfian finds it, indexes it with BM25, and shows why."""

from zipfian.retrieve.scoring import BM25, Dot, TfIdf
from zipfian.retrieve.sparse_index import SparseIndex

__all__ = ["BM25", "Dot", "SparseIndex", "TfIdf"]
