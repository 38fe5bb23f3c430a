"""A table from words to visual words: ridge regression of pictures' impacts on their captions' words.

Closed form: (X'X + lambda I)^-1 X'Y, where a row of X counts the words of a picture's captions and a row of Y holds the
idf-weighted impacts of its visual words. What a word adds to a picture becomes its row; only what it adds is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.types import FloatArray

Table = tuple[npt.NDArray[np.uint16], FloatArray]

STRENGTHS = (1.0, 3.0, 10.0, 30.0)
KEEP = 128


def choose_table(
    words: npt.NDArray[Any], impacts: npt.NDArray[Any], measure: Callable[[Table], float], *,
    strengths: Sequence[float] = STRENGTHS, keep: int = KEEP,
) -> tuple[Table, float]:  # fmt: skip
    """The table of the strength that `measure` finds best (the first of equals), and that strength."""
    best: tuple[float, Table, float] | None = None
    for strength in strengths:
        table = ridge_table(words, impacts, strength=strength, keep=keep)
        score = measure(table)
        if best is None or score > best[0]:
            best = score, table, strength
    if best is None:
        raise InvalidInput("no strength of the ridge was given to choose from")
    return best[1], best[2]


def translated(table: Table, words: npt.NDArray[Any], n_terms: int) -> FloatArray:
    """(texts, visual words): what a text that uses some words asks for; `words` above 0 count once."""
    rows = np.zeros((len(table[0]), n_terms), np.float32)
    np.put_along_axis(rows, table[0].astype(np.int64), table[1], axis=1)
    asked: FloatArray = (words > 0).astype(np.float32) @ rows
    return asked


def ridge_table(
    words: npt.NDArray[Any], impacts: npt.NDArray[Any], *, strength: float, keep: int
) -> tuple[npt.NDArray[np.uint16], FloatArray]:
    """(terms, weights) of each word, strongest first and 0 where nothing is added.

    `words` is (pictures, words), `impacts` (pictures, visual words); both may be any float type. Impacts are centred:
    a row says how a word changes a picture, not what pictures look like on average.
    """
    if words.ndim != 2 or impacts.ndim != 2 or len(words) != len(impacts) or len(words) == 0:
        raise InvalidInput(f"words {words.shape} and impacts {impacts.shape} must be of the same pictures")
    if not strength > 0:
        raise InvalidInput(f"the strength of the ridge must be above 0, not {strength!r}")
    if impacts.shape[1] > 2**16:
        raise InvalidInput(f"{impacts.shape[1]:,} visual words do not fit the table: at most {2**16:,}")
    x = words.astype(np.float64)
    gram = x.T @ x + strength * np.eye(x.shape[1])
    keep = min(keep, impacts.shape[1])
    inverse = np.linalg.solve(gram, x.T).astype(np.float32)
    y = impacts.astype(np.float32)
    rows = inverse @ (y - y.mean(axis=0))
    best = np.argpartition(-rows, keep - 1, axis=1)[:, :keep]
    weights = np.take_along_axis(rows, best, axis=1)
    order = np.argsort(-weights, axis=1, kind="stable")
    terms, weights = np.take_along_axis(best, order, axis=1), np.take_along_axis(weights, order, axis=1)
    return terms.astype(np.uint16), np.maximum(weights, 0.0).astype(np.float32)
