"""Where terms stand in a document: words around the pieces of a text, or cells of a picture's grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode.passages import Reading
from zipfian.language.names import NAMES
from zipfian.retrieve.statistics import Term
from zipfian.types import Encoded, Token, marked
from zipfian.vocabulary.stopwords import stop_words

F64 = npt.NDArray[np.float64]

_SAME = 1e-5
"""How far a pooled vector of length 1 may be from the average of its patches."""

Places = dict[Term, list[Mapping[str, Any]]]

CHANGED = "the {what} is no longer what was indexed, so places cannot be shown"


def span(text: str, start: int, end: int, language: str | None = None) -> dict[str, Any]:
    """A place in a text, of a language if it is known; one that shows a reader nothing says `mark: False`.

    A latent term fires on full stops and function words, too: they take part in the score, and no reader looks there.
    """
    word = text[start:end]
    place: dict[str, Any] = {"start": start, "end": end, "text": word}
    return place if shows(word, language) else {**place, "mark": False}


def shows(word: str, language: str | None = None) -> bool:
    """Whether a word shows a reader anything: it is no punctuation and no function word of its language.

    The language is an ISO 639-1 code; a text of which nobody knows it is taken for English.
    """
    return any(map(str.isalnum, word)) and word.lower() not in _function_words(language or "en")


@lru_cache(maxsize=64)
def _function_words(language: str) -> frozenset[str]:
    return stop_words(True, NAMES.get(language, ""))


def in_document(found: Places, reading: Reading) -> Places:
    """Places in what was read of a passage as places in the text of its document."""
    out: Places = {}
    for term, rows in found.items():
        spans = [(row, *reading.place(row["start"], row["end"])) for row in rows]
        out[term] = [{**row, "start": start, "end": end} for row, start, end in spans]
    return out


def tokens(found: Places) -> list[Token]:
    """Those of the places that a reader should look at, as tokens of a text, for highlighting."""
    return [Token(str(term), place["start"], place["end"]) for term, rows in found.items() for place in marked(rows)]


def places_of(
    encoded: Encoded, rows: list[tuple[int, float]], text: str | None, language: str | None = None
) -> list[Mapping[str, Any]]:
    """Places of some tokens, strongest first: words around the pieces of a text, or cells of a picture's grid."""
    out: dict[Any, dict[str, Any]] = {}
    for token, strength in rows:
        first, second = encoded.places[token].tolist()
        if encoded.grid is not None:
            height, width = encoded.grid
            place: dict[str, Any] = {"row": first, "column": second, "rows": height, "columns": width}
        elif text is not None and first < second <= len(text):  # an expansion by the model has no place of its own
            place = span(text, *word_around(text, first, second), language)
        else:
            continue
        known = out.setdefault((*place.values(),), {**place, "strength": 0.0})
        known["strength"] += strength  # pieces of one word are one place
    return sorted(out.values(), key=lambda place: -place["strength"])


@dataclass(frozen=True, slots=True)
class Spread:
    """A cosine, spread over the places of a document."""

    places: list[Mapping[str, Any]]
    """Each with its `strength`: what it gives to the cosine."""
    rest: float
    """What none of them gives."""


def spread_over(encoded: Encoded, slopes: F64, rest: float) -> Spread | None:
    """slopes @ pooled + rest over the patches of a picture; None where its pooled vector is not their average."""
    weights = _averaged(encoded)
    if weights is None:
        return None
    strengths = (encoded.vectors.astype(np.float64) @ slopes) * weights
    return Spread(places_of(encoded, list(enumerate(strengths.tolist())), None), rest)


def _averaged(encoded: Encoded) -> F64 | None:
    """What each patch counts in the pooled vector: the average over each view of the picture, brought to length 1."""
    if encoded.grid is None or encoded.vectors.shape[1:] != encoded.pooled.shape:
        return None
    rows, columns = encoded.grid
    views = encoded.vectors.astype(np.float64).reshape(-1, rows * columns, len(encoded.pooled))
    totals = views.sum(axis=1)
    lengths = np.linalg.norm(totals, axis=1, keepdims=True)
    if not lengths.all():
        return None
    whole = (totals / lengths).sum(axis=0)
    length = float(np.linalg.norm(whole))
    if length == 0 or np.abs(whole / length - encoded.pooled).max() > _SAME:
        return None
    return np.repeat(1.0 / (lengths[:, 0] * length), rows * columns)


def word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole word around a piece of it."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return start, end
