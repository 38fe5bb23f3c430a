"""Training of vocabularies (torch, extra `train`). Nothing here is needed to index or to search."""

from zipfian.train.fit import FittedSae, fit_sae

__all__ = ["FittedSae", "fit_sae"]
