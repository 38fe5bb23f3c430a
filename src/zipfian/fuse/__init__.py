"""Several legs into one ranking: every candidate gets its exact score from every leg, and every score its parts.

lists = [leg.search(query, method.depth(k), mask) for each leg]      each leg's best, exactly
candidates = gather([LegList(...), ...], score)                      their union, scored by all legs
fused = method.fuse(candidates)                                      RRF(), Linear() or Adaptive()
"""

from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.candidates import Candidates, Fused, LegList, gather
from zipfian.fuse.linear import Linear
from zipfian.fuse.methods import Method, method_from_json
from zipfian.fuse.normalise import POOL
from zipfian.fuse.rrf import RRF
from zipfian.fuse.signals import coverage

__all__ = [
    "Adaptive",
    "Candidates",
    "Fused",
    "LegList",
    "Linear",
    "Method",
    "POOL",
    "RRF",
    "coverage",
    "gather",
    "method_from_json",
]
