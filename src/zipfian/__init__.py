"""A frozen encoder hides a Zipfian vocabulary. zipfian finds it, indexes it with BM25, and shows why."""

from zipfian._version import __version__
from zipfian.client import connect
from zipfian.collection import Collection, Hit, Results
from zipfian.fields import Aligned, Dense, Field, Latent, Scalar, Sparse, Splade, Translated, Visual, Words
from zipfian.retrieve.scoring import BM25, Dot, TfIdf
from zipfian.retrieve.sparse_index import SparseIndex
from zipfian.types import Explanation, Terms

__all__ = [
    "BM25",
    "Aligned",
    "Collection",
    "Dense",
    "Dot",
    "Explanation",
    "Field",
    "Hit",
    "Latent",
    "Results",
    "Scalar",
    "Sparse",
    "SparseIndex",
    "Splade",
    "Terms",
    "TfIdf",
    "Translated",
    "Visual",
    "Words",
    "__version__",
    "connect",
]
