"""Questions cut out of training paragraphs, as word pieces: nobody judged them, a teacher ranks what answers them."""

from __future__ import annotations

import numpy as np
from texts import Array

from training.text_encoder import Pieces

STOPS = (1012, 1029, 999)
"""Full stop, question mark and exclamation mark of the tokenizer."""
SENTENCE = (5, 48)
"""Pieces of a sentence that is worth asking."""
STRETCH = (3, 16)
KEYWORDS = (2, 6)


class Questions:
    """Draws questions of three kinds from paragraphs: a sentence, a stretch, and the rare words of a stretch."""

    def __init__(self, pieces: Pieces, words: list[str], seed: int) -> None:
        """`words`: the text of every word piece, by which continuations (##) are known."""
        self._pieces, self._rng = pieces, np.random.default_rng(seed)
        self._follows = np.array([word.startswith("##") for word in words])
        names = np.array([any(c.isalnum() for c in word) for word in words])
        often = np.bincount(pieces.ids, minlength=len(words)).astype(np.float64)
        self._worth = np.where(names, np.log((len(pieces.ids) + 1.0) / (often + 1.0)), 0.0)

    def draw(self, paragraphs: Array) -> tuple[Pieces, Array]:
        """One question of every kind for each paragraph, and the paragraph it came from."""
        rows: list[Array] = []
        sources: list[int] = []
        for paragraph in paragraphs.tolist():
            text = self._pieces.ids[self._pieces.indptr[paragraph] : self._pieces.indptr[paragraph + 1]]
            for found in (self._sentence(text), self._stretch(text), self._keywords(text)):
                if len(found):
                    rows.append(found)
                    sources.append(paragraph)
        indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        return Pieces(np.concatenate(rows), indptr), np.array(sources, np.int64)

    def _sentence(self, text: Array) -> Array:
        ends = np.flatnonzero(np.isin(text, STOPS)) + 1
        starts = np.concatenate(([0], ends[:-1])) if len(ends) else np.zeros(0, np.int64)
        low, high = SENTENCE
        whole = [(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True) if low <= b - a <= high]
        if not whole:
            return self._stretch(text)
        start, end = whole[self._rng.integers(len(whole))]
        return text[start:end]

    def _stretch(self, text: Array, low: int = STRETCH[0], high: int = STRETCH[1]) -> Array:
        """Whole words: it starts and ends where words do."""
        starts = np.flatnonzero(~self._follows[text])
        if not len(starts):
            return text[:high]
        size = int(self._rng.integers(low, high + 1))
        first = int(starts[self._rng.integers(max(1, len(starts) - size // 2))])
        later = starts[starts >= first + size]
        return text[first : int(later[0]) if len(later) else len(text)]

    def _keywords(self, text: Array) -> Array:
        """The words of a stretch that are worth most, in their order."""
        stretch = self._stretch(text, 12, 40)
        if not len(stretch):
            return stretch
        word = np.cumsum(~self._follows[stretch])
        word -= word[0]
        worth = np.bincount(word, weights=self._worth[stretch]) / np.maximum(1, np.bincount(word))
        count = int(self._rng.integers(KEYWORDS[0], KEYWORDS[1] + 1))
        return stretch[np.isin(word, np.argsort(-worth, kind="stable")[:count])]
