"""What a term's strongest firings have in common, as numbers.

For every term: its firing words (one per place, strongest first), how concentrated their stems and word pieces are,
how alike the contexts are, and which words stand out in those contexts against the rest of the text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from texts import Array

from labelling.corpus import NUMBER, YEAR, Corpus
from zipfian.vocabulary.stopwords import STOP_WORDS

REACH = 12
"""Words before and after a firing that count as its context."""
SAMPLE = 200_000
"""Random windows that tell how common a stem is in a context of this size."""
FLOOR = 2e-5
"""Least background rate of a stem: rarer ones are not known well enough to be told apart."""
FEW_PARAGRAPHS = 5
"""Below this number of paragraphs, likeness of contexts means nothing."""
EXTRA_FUNCTION_WORDS = "s t d ll ve re will one two three first many several well even still another".split()


@dataclass(frozen=True, slots=True)
class Shape:
    """The measures that the rule reads, over the top firings of a term."""

    firings: int
    paragraphs: int
    stem_share: float
    """Share of the commonest stem among the firing words."""
    stems: int
    """Different stems among the firing words."""
    spread: float
    """Effective number of stems: the exponential of their entropy."""
    piece_share: float
    """Share of the commonest word piece among the firing tokens."""
    beginning_share: float
    """Share of the commonest first four letters among the firing words."""
    likeness: float
    """Mean cosine between the contexts of two firings in different paragraphs, firing stems left out."""
    function_share: float
    """Share of firing words that are function words, punctuation or single letters."""
    fragment_share: float
    """Share of firing words that the tokenizer cuts into several pieces."""


@dataclass(frozen=True, slots=True)
class Firings:
    """Where a term fires most, strongest first; a word that several pieces fired in is one."""

    words: Array
    pieces: Array
    strengths: Array


class Reader:
    """Firings of a vocabulary in the words of its training text."""

    def __init__(self, corpus: Corpus, tokens: Array, strengths: Array, *, seed: int = 0, sample: int = SAMPLE) -> None:
        self.corpus = corpus
        self.tokens, self.strengths = tokens, strengths
        self.normal = corpus.normal[corpus.surface]
        self.stem = corpus.stem[self.normal]
        stop = set(STOP_WORDS["english"].split()) | set(EXTRA_FUNCTION_WORDS)
        self.functional = np.array([w in stop or len(w) < 2 or not any(map(str.isalnum, w)) for w in corpus.normals])
        self.functional_stem = np.zeros(len(corpus.stems), dtype=bool)
        self.functional_stem[corpus.stem[self.functional]] = True
        self.number_stem = np.array([s in (YEAR, NUMBER) or s.isdigit() for s in corpus.stems])
        self.word_rate = np.maximum(np.bincount(self.stem, minlength=len(corpus.stems)) / len(self.stem), 1e-7)
        self.pieces_of = np.bincount(corpus.token_word, minlength=len(self.stem))
        self.rate = self._background(seed, sample)
        self.idf = np.log(1.0 / self.rate)
        self._forms = np.argsort(corpus.normal, kind="stable")  # surface forms by normal form
        count = np.bincount(corpus.normal, minlength=len(corpus.normals))
        self._form_start = np.concatenate([[0], np.cumsum(count)])
        self._written: dict[int, str] = {}

    def _background(self, seed: int, sample: int) -> Array:
        """How often a stem is in a random window."""
        rng = np.random.default_rng(seed)
        rows = self.windows(rng.integers(0, len(self.stem), sample))
        row = np.broadcast_to(np.arange(sample)[:, None], rows.shape)
        keys = np.unique(row[rows >= 0].astype(np.int64) * len(self.corpus.stems) + self.stem[rows[rows >= 0]])
        count = np.bincount(keys % len(self.corpus.stems), minlength=len(self.corpus.stems))
        return np.maximum((count + 0.5) / sample, FLOOR)

    def paragraph_of(self, words: Array) -> Array:
        """The paragraph of each word."""
        return np.searchsorted(self.corpus.paragraph, words, side="right") - 1

    def windows(self, words: Array) -> Array:
        """(firings, 2 * REACH) word numbers around each word, -1 outside its paragraph; the word itself is left out."""
        paragraph = self.paragraph_of(words)
        low, high = self.corpus.paragraph[paragraph], self.corpus.paragraph[paragraph + 1]
        around = np.concatenate([np.arange(-REACH, 0), np.arange(1, REACH + 1)])
        index = words[:, None].astype(np.int64) + around
        return np.where((index >= low[:, None]) & (index < high[:, None]), index, -1)

    def firings(self, term: int) -> Firings:
        """The distinct words among a term's strongest firings."""
        tokens, strengths = self.tokens[term], self.strengths[term]
        tokens, strengths = tokens[tokens >= 0], strengths[tokens >= 0]
        words = self.corpus.token_word[tokens]
        _, first = np.unique(words, return_index=True)
        first.sort()
        return Firings(words[first], self.corpus.piece[tokens[first]], strengths[first])

    def shape(self, found: Firings) -> Shape:
        """The measures of one term."""
        n = len(found.words)
        if n == 0:
            return Shape(0, 0, 0.0, 0, *[0.0] * 6)
        stems, counts = np.unique(self.stem[found.words], return_counts=True)
        share = counts / n
        pieces = np.unique(found.pieces, return_counts=True)[1]
        return Shape(
            firings=n,
            paragraphs=len(np.unique(self.paragraph_of(found.words))),
            stem_share=float(share.max()),
            stems=len(stems),
            spread=float(np.exp(-(share * np.log(share)).sum())),
            piece_share=float(pieces.max() / n),
            beginning_share=self._beginnings(found) / n,
            likeness=self.likeness(found),
            function_share=float(self.functional[self.normal[found.words]].mean()),
            fragment_share=float((self.pieces_of[found.words] > 1).mean()),
        )

    def _beginnings(self, found: Firings) -> int:
        return Counter(self.corpus.normals[i][:4] for i in self.normal[found.words]).most_common(1)[0][1]

    def likeness(self, found: Firings) -> float:
        """Mean cosine of the contexts, one firing per paragraph, idf weights, without the term's own stems."""
        _, first = np.unique(self.paragraph_of(found.words), return_index=True)
        if len(first) < FEW_PARAGRAPHS:
            return 0.0
        row, stem = self.context_pairs(found.words[first], leave_out=self.stem[found.words])
        weight = self.idf[stem]
        length = np.sqrt(np.bincount(row, weight * weight, minlength=len(first)))
        length[length == 0] = 1.0
        unit = weight / length[row]
        _, where = np.unique(stem, return_inverse=True)
        total = np.bincount(where, unit)
        n = len(first)
        return float(((total**2).sum() - (unit**2).sum()) / (n * (n - 1)))

    def context_pairs(self, words: Array, leave_out: Array | None = None) -> tuple[Array, Array]:
        """(firing, stem) for every stem that is in the context of a firing, once each."""
        index = self.windows(words)
        row = np.broadcast_to(np.arange(len(words))[:, None], index.shape)[index >= 0]
        size = len(self.corpus.stems)
        keys = np.unique(row.astype(np.int64) * size + self.stem[index[index >= 0]])
        row, stem = keys // size, keys % size
        if leave_out is not None:
            keep = ~np.isin(stem, leave_out)
            row, stem = row[keep], stem[keep]
        return row, stem

    def standing_out(self, found: Firings, own: bool, count: int = 8) -> list[tuple[int, float]]:
        """Stems of the contexts by how far they exceed the background (count times log ratio), and their shares.

        `own` counts the firing words as part of their contexts; otherwise their stems are left out.
        """
        n = len(found.words)
        row, stem = self.context_pairs(found.words, None if own else self.stem[found.words])
        if own:
            size = len(self.corpus.stems)
            mine = np.arange(n) * size + self.stem[found.words]
            keys = np.unique(np.concatenate([row * size + stem, mine]))
            row, stem = keys // size, keys % size
        stems, counts = np.unique(stem, return_counts=True)
        keep = (counts >= max(3, 0.06 * n)) & ~self.functional_stem[stems] & ~self.number_stem[stems]
        stems, counts = stems[keep], counts[keep]
        score = counts * np.log(counts / n / self.rate[stems])
        order = np.lexsort((stems, -score))[:count]
        return [(int(stems[i]), float(counts[i] / n)) for i in order if score[i] > 0]

    def firing_stems(self, found: Firings, count: int = 6) -> list[tuple[int, float]]:
        """Stems of the firing words by how characteristic they are, and their shares."""
        n = len(found.words)
        stems, counts = np.unique(self.stem[found.words], return_counts=True)
        score = counts * np.log(np.maximum(counts / n / self.word_rate[stems], 1.0))
        order = np.lexsort((stems, -score))[:count]
        return [(int(stems[i]), float(counts[i] / n)) for i in order]

    def spelling(self, stem: int, words: Array) -> str:
        """How a stem is most often written among some words; lower case unless it is mostly capitalised in the text."""
        mine = words[self.stem[words] == stem]
        normals, counts = np.unique(self.normal[mine], return_counts=True)
        if not len(normals):
            return self.corpus.stems[stem]
        return self.written(int(normals[np.lexsort((normals, -counts))[0]]))

    def written(self, normal: int) -> str:
        """A normal form as the text mostly writes it."""
        if normal not in self._written:
            name = self.corpus.normals[normal]
            if name not in (YEAR, NUMBER):
                forms = self._forms[self._form_start[normal] : self._form_start[normal + 1]]
                name = self.corpus.surfaces[int(forms[np.argmax(self.corpus.counts[forms])])]
            self._written[normal] = name
        return self._written[normal]
