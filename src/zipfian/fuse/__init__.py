"""Several fields into one ranking: every candidate gets its exact score from every field, and every score its parts.

lists = [field.search(query, method.depth(k), mask) for each field]      each field's best, exactly
candidates = gather([Ranking.of(...), ...], score)                     their union, scored by all fields
ranking = method.fuse(candidates)                                      RRF(), Linear() or Adaptive()
"""

from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.candidates import Candidates, gather
from zipfian.fuse.confidence import Evidence, confidences
from zipfian.fuse.linear import Linear
from zipfian.fuse.methods import Method, method_from_json
from zipfian.fuse.normalise import POOL
from zipfian.fuse.ranking import Fusion, Ranking, Reranking, Voice
from zipfian.fuse.rrf import RRF
from zipfian.fuse.signals import coverage

__all__ = [
    "Adaptive",
    "Candidates",
    "Evidence",
    "Fusion",
    "Linear",
    "Method",
    "POOL",
    "RRF",
    "Ranking",
    "Reranking",
    "Voice",
    "confidences",
    "coverage",
    "gather",
    "method_from_json",
]
