"""The numba kernels behind every search: exact top-k over posting lists, one core, no GIL.

Importing this package loads numba; nothing else in zipfian does so before the first search. `query` says how a search
works and why it is exact, `jit` where machine code is kept.
"""

from zipfian.retrieve.kernels.jit import private_cache

with private_cache():
    from zipfian.index import _decode  # noqa: F401 - not used here, but its machine code belongs in the same folder
    from zipfian.retrieve.kernels.arrays import Postings
    from zipfian.retrieve.kernels.candidates import score_candidates
    from zipfian.retrieve.kernels.exact import exact_topk, score_docs
    from zipfian.retrieve.kernels.fill import count_terms, fill_all, fill_long, invert, row_sums, unfold
    from zipfian.retrieve.kernels.impact import impact
    from zipfian.retrieve.kernels.query import query_many, scale_query, topk, weigh, weigh_many
    from zipfian.retrieve.kernels.sweep import collect
    from zipfian.retrieve.kernels.unpack import count_range, cut_lists, unpack_range

__all__ = [
    "Postings",
    "collect",
    "count_range",
    "count_terms",
    "cut_lists",
    "exact_topk",
    "fill_all",
    "fill_long",
    "impact",
    "invert",
    "query_many",
    "row_sums",
    "scale_query",
    "score_candidates",
    "score_docs",
    "topk",
    "unfold",
    "unpack_range",
    "weigh",
    "weigh_many",
]
