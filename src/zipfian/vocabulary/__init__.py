"""Vocabularies: what turns an item into terms and weights."""

from __future__ import annotations

from zipfian.vocabulary._word_settings import WordSettings
from zipfian.vocabulary.base import Vocabulary
from zipfian.vocabulary.words import Words

__all__ = ["Vocabulary", "WordSettings", "Words"]
