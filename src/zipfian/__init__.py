"""A frozen encoder hides a Zipfian vocabulary. zipfian finds it, indexes it with BM25, and shows why."""

from zipfian._version import __version__
from zipfian.collection import Collection, Field, Hit, Results
from zipfian.retrieve.scoring import BM25, Dot, TfIdf
from zipfian.retrieve.sparse_index import SparseIndex
from zipfian.types import Explanation, Terms

__all__ = [
    "BM25",
    "Collection",
    "Dot",
    "Explanation",
    "Hit",
    "Field",
    "Results",
    "SparseIndex",
    "Terms",
    "TfIdf",
    "__version__",
]
