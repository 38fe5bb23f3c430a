"""Collections: the facade over index, retrieve and explain."""

from zipfian.collection.collection import Collection
from zipfian.collection.results import Document, FieldHit, Hit, Results

__all__ = ["Collection", "Document", "FieldHit", "Hit", "Results"]
