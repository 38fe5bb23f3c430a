"""How well an alignment finds: heads and translation table on a split of captioned pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch
from zipfian.train.align import AlignResult
from zipfian.train.align_data import Split, impacts
from zipfian.train.passes import score_recalls
from zipfian.train.translate import Table, choose_table, translated
from zipfian.types import FloatArray
from zipfian.vocabulary.sae import SaeVocabulary

Recalls = dict[str, float]


def named(ways: tuple[dict[int, float], dict[int, float]]) -> Recalls:
    """Text to picture and picture to text, by the names that measures have everywhere."""
    both = zip(("t2i", "i2t"), ways, strict=True)
    return {f"{way}_r@{k}": value for way, found in both for k, value in found.items()}


def heads_recalls(members: Sequence[AlignResult], split: Split) -> Recalls:
    """Of several heads whose cosines are averaged."""
    total: Any = 0
    for member in members:
        features = split.features if member.settings.term_rank else replace(split.features, terms=None)
        pictures, captions = member.vectors(features)
        total = total + pictures @ captions.T
    return named(score_recalls(total))


def table_recalls(table: Table, split: Split, vocabulary: SaeVocabulary) -> Recalls:
    """Of a search of the visual field with the translated captions."""
    terms = _terms(split)
    df = np.count_nonzero(terms, axis=0)
    idf = np.log(1.0 + (len(terms) - df + 0.5) / (df + 0.5)).astype(np.float32)
    asked = translated(table, split.features.words, terms.shape[1])
    # captions of many words score higher with every picture: only the way from pictures to texts notices
    asked /= np.maximum(np.linalg.norm(asked, axis=1, keepdims=True), 1e-9)
    scores = impacts(terms, vocabulary.defaults.bm25, idf) @ asked.T
    return named(score_recalls(torch.from_numpy(scores)))


def make_table(train: Split, dev: Split, vocabulary: SaeVocabulary, term_idf: FloatArray) -> tuple[Table, float]:
    """The table that finds most of dev's pictures and captions in the first ten, and the strength of its ridge."""

    def found(table: Table) -> float:
        recalls = table_recalls(table, dev, vocabulary)
        return recalls["t2i_r@10"] + recalls["i2t_r@10"]

    return choose_table(train.said(), impacts(_terms(train), vocabulary.defaults.bm25, term_idf), found)


def _terms(split: Split) -> Any:
    if split.terms is None:
        raise InvalidInput("a translation table needs visual words: give a vocabulary of them")
    return split.terms
