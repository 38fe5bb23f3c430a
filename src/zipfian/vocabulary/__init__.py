"""Vocabularies: what turns an item into terms and weights."""

from __future__ import annotations

from zipfian.vocabulary._word_settings import WordSettings
from zipfian.vocabulary.base import Vocabulary
from zipfian.vocabulary.pruning import Pruning, dropped_terms, prune_rows, prune_terms
from zipfian.vocabulary.quantise import Fixed, check_weights, to_fixed
from zipfian.vocabulary.words import Words

__all__ = [
    "Fixed",
    "Pruning",
    "Vocabulary",
    "WordSettings",
    "Words",
    "check_weights",
    "dropped_terms",
    "prune_rows",
    "prune_terms",
    "to_fixed",
]
