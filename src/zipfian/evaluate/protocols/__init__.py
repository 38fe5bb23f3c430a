"""Which captions are queries, which are in the gallery, and how often: the protocols of caption retrieval."""

from zipfian.evaluate.protocols.captions import Task, karpathy, val_only
from zipfian.evaluate.protocols.fair_loo import LooRun, LooSummary, fair_loo, summarise

__all__ = ["LooRun", "LooSummary", "Task", "fair_loo", "karpathy", "summarise", "val_only"]
