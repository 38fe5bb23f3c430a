"""Surrogate text: vectors as terms by scalar quantisation."""
