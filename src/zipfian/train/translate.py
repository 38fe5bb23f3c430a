"""A table from words to visual words: ridge regression of pictures' impacts on their captions' words.

Closed form: (X'X + lambda I)^-1 X'Y, where a row of X counts the words of a picture's captions and a row of Y holds the
idf-weighted impacts of its visual words. What a word adds to a picture becomes its row; only what it adds is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.types import FloatArray


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
