"""Training of vocabularies (torch, extra `train`). Nothing here is needed to index or to search."""

from zipfian.train.align_fit import FittedAlignment, Parts, fit_alignment
from zipfian.train.fit import FittedSae, fit_sae

__all__ = ["FittedAlignment", "FittedSae", "Parts", "fit_alignment", "fit_sae"]
