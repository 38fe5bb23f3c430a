"""A better score for the first K candidates, never for all N documents.

Every stage takes a `Ranking` and arrays, and gives a `Ranking`: the refined candidates first, the others below them in
the order they had, each with its old rank and the parts its score is the sum of (`Ranking.reranking`).
"""

from zipfian.rerank.adaptive_k import AdaptiveK, KChoice
from zipfian.rerank.dense import rerank_dense
from zipfian.rerank.late import rerank_late
from zipfian.rerank.presets import PRESETS, Preset, preset
from zipfian.rerank.result import check_depth
from zipfian.rerank.training_free import VARIANTS, context_coherence, rerank_training_free

__all__ = [
    "AdaptiveK",
    "KChoice",
    "PRESETS",
    "Preset",
    "VARIANTS",
    "check_depth",
    "context_coherence",
    "preset",
    "rerank_dense",
    "rerank_late",
    "rerank_training_free",
]
