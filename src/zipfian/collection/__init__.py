"""Collections: the facade over index, retrieve and explain."""

from zipfian.collection.facade import Collection
from zipfian.collection.legs import Leg
from zipfian.collection.results import Document, Hit, LegHit, Results

__all__ = ["Collection", "Document", "Hit", "Leg", "LegHit", "Results"]
