"""Collections: the facade over index, retrieve and explain."""

from zipfian.collection.facade import Collection
from zipfian.collection.results import Document, Hit, LegHit, Results
from zipfian.collection.settings import Leg

__all__ = ["Collection", "Document", "Hit", "Leg", "LegHit", "Results"]
