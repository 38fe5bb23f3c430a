"""Exact top-k over posting lists: scoring formulas, kernels, searchers and filters."""
