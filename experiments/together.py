"""A picture and words at once: which way of putting them together finds what both ask for.

Pairs are made of captions: a picture, and a word that its own captions lack and those of some of its nearest pictures
have. These are looked for. Halves of the pairs go by the sha1 of picture and word: even ones chose, odd ones report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.base import Context, Made, Table
from experiments.kinds import F32, NOW, Kind, bags, encoded, scored
from zipfian.encode.registry import find
from zipfian.evaluate.datasets import load_captions
from zipfian.evaluate.datasets.base import half_of
from zipfian.fields import Aligned, Dense, Visual
from zipfian.vocabulary.stopwords import STOP_WORDS

NEAR = 50
"""Nearest pictures, by cosine, among which a word is looked for."""
OFTEN = (5, 60)
"""Pictures whose captions have a word, at least twice each."""
WANTED = 5
"""Of the nearest, so many have the word at most."""
EACH = 2
"""Words for each picture."""


def together(context: Context) -> Made:
    """Shares of pairs whose picture comes first or among the first ten, and mean reciprocal ranks."""
    captions = load_captions(context.path("captions"), context.path("images"), "dev").pictures
    words = [_words(one.captions) for one in captions]
    vectors, terms, values = encoded([one.path for one in captions])
    n = len(captions)
    kind = Kind("dev", np.arange(n), np.zeros(n, np.bool_), np.eye(n, dtype=np.bool_), vectors, terms, values)
    cosines = np.asarray(vectors @ vectors.T)
    seen, near = kind.standard(scored(bags(kind, NOW, Visual().n_terms), NOW.scoring)), kind.standard(cosines)
    nearest = np.argsort(-np.where(kind.own, -np.inf, cosines), axis=1, kind="stable")[:, :NEAR]
    pairs = pairs_of(words, nearest)
    said = dict(zip(sorted({word for _, word in pairs}), _vectors(sorted({w for _, w in pairs}), vectors), strict=True))
    ranks: dict[str, dict[str, list[int]]] = {}
    for picture, word in pairs:
        text = Kind("", kind.classes, kind.even, kind.own[[picture]], vectors, terms, values).standard(said[word][None])
        wanted = np.array([j for j in nearest[picture] if words[j][word] > 1])
        half = half_of(f"{captions[picture].id} {word}")
        for name, score in ways(seen[picture], near[picture], text[0]).items():
            score = np.where(kind.own[picture], -np.inf, score)
            ranks.setdefault(name, {}).setdefault(half, []).append(int((score > score[wanted].max()).sum()))
    rows = [{"way": name, **_measured(found)} for name, found in ranks.items()]
    notes = (
        f"{n} pictures of Flickr8k dev, {len(pairs)} pairs of a picture and a word; the best of the wanted ones counts",
        "even halves chose, odd ones report. search: z-scores of fields as logarithms of their logistic, weighed and "
        "added; both sides: the same of the mean z-score of the picture's fields",
    )
    return Made("together", "A picture and words at once", list(rows[0]), rows, notes)


def ways(seen: F32, near: F32, text: F32) -> dict[str, F32]:
    """Scores of all pictures, from z-scores of visual words, of vectors, and of the text in the common space."""
    visual, dense = Visual().weight, Dense("image").weight
    picture = visual * seen + dense * near
    return {
        "picture alone": picture,
        "words alone": text,
        "sum (before)": picture + text,
        "lesser of both sides": np.minimum(picture, text),
        "both sides": _log(picture) + _log(text),
        "search": visual * _log(seen) + dense * _log(near) + _log(text),
    }


def pairs_of(words: Sequence[Mapping[str, int]], nearest: npt.NDArray[np.int64]) -> list[tuple[int, str]]:
    """Pictures, each with the rarest words that it lacks and few of its nearest have."""
    df = Counter(word for one in words for word, times in one.items() if times > 1)
    known = sorted((w for w, times in df.items() if OFTEN[0] <= times <= OFTEN[1]), key=lambda w: (df[w], w))
    out: list[tuple[int, str]] = []
    for picture, row in enumerate(nearest):
        there = Counter(word for j in row for word, times in words[j].items() if times > 1)
        fitting = [w for w in known if w not in words[picture] and 1 <= there[w] <= WANTED]
        out += [(picture, word) for word in fitting[:EACH]]
    return out


def _words(captions: Sequence[str]) -> Counter[str]:
    """In how many captions of a picture each word stands."""
    stop = frozenset(STOP_WORDS["english"].split())
    return Counter(w for one in captions for w in set(re.findall("[a-z]{3,}", one.lower())) - stop)


def _vectors(words: Sequence[str], pooled: F32) -> list[F32]:
    """(pictures,) for each word: its cosine with every picture in the common space."""
    align = Aligned().align
    pictures = np.stack([align.image_vector(one, None) for one in pooled])
    passes = find(align.text).encode_queries(list(words))
    return [pictures @ align.text_vector(one.pooled, word) for word, one in zip(words, passes, strict=True)]


def _log(z: F32) -> F32:
    out: F32 = -np.logaddexp(0.0, -z)
    return out


def _measured(found: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for half in ("even", "odd"):
        ranks = np.array(found[half])
        out[f"R@1 {half}"], out[f"R@10 {half}"] = float((ranks < 1).mean()), float((ranks < 10).mean())
        out[f"MRR {half}"] = float((1.0 / (ranks + 1)).mean())
    return out


TABLES = (Table("together", "a picture and words at once", ("captions", "images"), together),)
