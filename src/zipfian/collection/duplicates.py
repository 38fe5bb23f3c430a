"""Documents that are there more than once: the same file or text, or one whose vector is nearly the same.

Every pair counts, and none is compared that need not be. Vectors are turned so that a few numbers hold most of each,
and the length of the rest is one number more: the product of two such short rows is never below the cosine, so only
pairs that reach the threshold there are looked at in full. The answer is that of comparing all pairs; for vectors of
1,280 numbers it takes about a twelfth of the work, in blocks of bounded memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zipfian import deadline
from zipfian.collection.searcher import Searcher
from zipfian.encode.picture_files import HASH_COLUMN
from zipfian.errors import InvalidInput, shown

_SHORT = 96
"""Numbers of a short row."""
_SAMPLE = 2_048
"""Vectors by which the turn is chosen; another choice costs time, never an answer."""
_BLOCK = 512
"""Short rows that are compared with all later ones at once."""
_ROWS = 8_192
"""Vectors that are read at once."""
_SLACK = 1e-5
"""What rounding may take from a product of short rows in float32."""

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Documents that are the same, or nearly.

    Parameters
    ----------
    ids
        The documents, in the order in which they were added.
    exact
        Whether they are the same: of one picture file, or of one text apart from spaces.
    similarity
        The lowest cosine of the pairs that tie them together; 1 where they are the same.

    Examples
    --------
    >>> Duplicates(("a.jpg", "copy of a.jpg"), True, 1.0).ids[0]
    'a.jpg'
    """

    ids: tuple[str, ...]
    exact: bool
    similarity: float


def find_duplicates(searcher: Searcher, threshold: float | None, field: str | None) -> list[Duplicates]:
    """Groups of the same, then groups of the nearly same, each in document order."""
    name = _vectors_of(searcher, field)
    if threshold is None:
        threshold = 1.0 if name is None else searcher.settings.fields[name].alike
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0.5 <= threshold <= 1:
        raise InvalidInput(f"threshold is a cosine from 0.5 to 1, not {shown(threshold)}")
    same = _same(searcher)
    numbers = [group[0] for group in same]
    near = [] if name is None else _near(searcher, name, np.array(numbers, np.int64), float(threshold))
    by_first = {group[0]: group for group in same}
    out = [Duplicates(_ids(searcher, group), True, 1.0) for group in same if len(group) > 1]
    for firsts, similarity in near:
        members = sorted(number for first in firsts for number in by_first[first])
        out.append(Duplicates(_ids(searcher, members), False, similarity))
    return out


def _ids(searcher: Searcher, numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(searcher.ids_of(np.array(numbers, np.int64)))


def _vectors_of(searcher: Searcher, field: str | None) -> str | None:
    """The field whose vectors are compared: the one that is named, or the first that looks at documents as they are."""
    fields = searcher.settings.fields
    if field is not None:
        if field not in fields or not fields[field].has_vectors:
            able = [name for name, one in fields.items() if one.has_vectors]
            raise InvalidInput(
                f"{shown(field)} is no field with vectors; fields with vectors: {', '.join(able) or 'none'}"
            )
        return field
    return next((name for name, one in fields.items() if one.has_vectors and not one.across), None)


def _same(searcher: Searcher) -> list[list[int]]:
    """All documents, those of one content together."""
    groups: dict[object, list[int]] = {}
    for base, segment in zip(searcher.bases.tolist(), searcher.snapshot.segments, strict=False):
        for doc in np.flatnonzero(segment.live).tolist():
            deadline.check("all documents were compared")
            text, metadata = segment.docs.content(doc)
            words = " ".join((text or "").split())
            content: object = metadata.get(HASH_COLUMN) or (hashlib.sha256(words.encode()).digest() if words else None)
            groups.setdefault(base + doc if content is None else content, []).append(base + doc)
    return sorted(groups.values())


def _near(
    searcher: Searcher, name: str, numbers: npt.NDArray[np.int64], threshold: float
) -> list[tuple[list[int], float]]:
    """Groups of documents that are tied together by pairs of at least so high a cosine, and the lowest of each."""
    stored = searcher.settings.vectors(name).stored_as(name)
    pairs = _Pairs(searcher, stored, numbers, threshold)
    above: dict[int, int] = {}
    lowest: dict[int, float] = {}
    for a, b, cosine in pairs:
        one, other = sorted((_top(above, a), _top(above, b)))
        least = min(cosine, lowest.pop(one, 1.0), lowest.pop(other, 1.0))
        above.setdefault(one, one)
        above[other] = one
        lowest[one] = least
    groups: dict[int, list[int]] = {}
    for number in sorted(above):
        groups.setdefault(_top(above, number), []).append(number)
    return [(members, lowest[top]) for top, members in groups.items()]


def _top(above: dict[int, int], number: int) -> int:
    """Who speaks for a document's group; the way there is shortened as it is walked."""
    while (up := above.get(number, number)) != number:
        above[number] = above.get(up, up)
        number = up
    return number


class _Pairs:
    """Pairs of documents whose vectors have at least a given cosine."""

    def __init__(self, searcher: Searcher, stored: str, numbers: npt.NDArray[np.int64], threshold: float) -> None:
        self._searcher, self._stored, self._threshold = searcher, stored, threshold
        self._numbers = np.array([n for n in numbers.tolist() if searcher.vector(n, stored) is not None], np.int64)

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        short = self._shortened()
        for start in range(0, len(short), _BLOCK):
            deadline.check("all documents were compared")
            block = short[start : start + _BLOCK]
            rows, columns = np.nonzero(block @ short[start:].T >= self._threshold - _SLACK)
            later = columns > rows
            yield from self._checked(start + rows[later], start + columns[later])

    def _checked(self, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
        """Those of some pairs that hold in full, compared in float64."""
        for start in range(0, len(a), _ROWS):
            deadline.check("all documents were compared")
            some = slice(start, start + _ROWS)
            used, places = np.unique(np.concatenate([a[some], b[some]]), return_inverse=True)
            vectors = self._vectors(used).astype(np.float64)
            left, right = places[: len(a[some])], places[len(a[some]) :]
            cosines = np.einsum("ij,ij->i", vectors[left], vectors[right])
            for i in np.flatnonzero(cosines >= self._threshold - 1e-7).tolist():
                pair = used[left[i]], used[right[i]]
                yield int(self._numbers[pair[0]]), int(self._numbers[pair[1]]), min(1.0, float(cosines[i]))

    def _vectors(self, places: npt.NDArray[np.int64]) -> F32:
        """Of documents by their place among those compared, each of length 1."""
        found = [self._searcher.vector(number, self._stored) for number in self._numbers[places].tolist()]
        rows = np.array([row for row in found if row is not None], np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    def _shortened(self) -> F32:
        """For each vector its part along the directions that hold most of a sample, and the length of the rest."""
        count = len(self._numbers)
        if not count:
            return np.empty((0, 1), np.float32)
        sample = self._vectors(np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64)))
        _, directions = np.linalg.eigh(sample.T @ sample)
        turn = directions[:, -_SHORT:]
        out = np.empty((count, turn.shape[1] + 1), np.float32)
        for start in range(0, count, _ROWS):
            deadline.check("all documents were compared")
            rows = self._vectors(np.arange(start, min(start + _ROWS, count)))
            part = rows @ turn
            out[start : start + len(rows), :-1] = part
            left = np.maximum(0, (rows**2).sum(axis=1) - (part**2).sum(axis=1))
            out[start : start + len(rows), -1] = np.sqrt(left)
        return out
