"""Count the terms of many texts into one sparse matrix."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import LimitExceeded
from zipfian.types import FieldBatch

_Ints = npt.NDArray[np.int64]


Chunk = TypeVar("Chunk", bound=Hashable)
"""What is analysed on its own, and gives the same terms wherever it stands."""

_Key = TypeVar("_Key")
Text = TypeVar("Text")


class _Counted(tuple[str]):
    """A term of a text that was counted already."""

    __slots__ = ()


class _Numbering(dict[_Key, int]):
    """Numbers keys in order of first sight."""

    def __missing__(self, key: _Key) -> int:
        self[key] = number = len(self)
        return number


def count_batch(
    texts: Iterable[Text],
    chunks: Callable[[Text], Iterable[Chunk] | Mapping[str, int]],
    terms: Callable[[Chunk], Iterable[str]],
) -> FieldBatch:
    """Term counts of texts as a `FieldBatch`, its terms sorted as UTF-8 bytes.

    Python only numbers the chunks of each text; every distinct chunk becomes terms once, and counting is one numpy
    sort of (document, term) keys. Of a long text `chunks` gives counted terms instead: each is one key, and its count
    is put in afterwards.
    """
    numbers: _Numbering[Chunk | _Counted] = _Numbering()
    rows: list[npt.NDArray[np.int32]] = []
    counted: dict[int, npt.NDArray[np.uint32]] = {}
    for text in texts:
        found = chunks(text)
        keys_of: Iterable[Chunk | _Counted]
        if isinstance(found, Mapping):
            ordered = sorted(found)  # as the finished row is
            counted[len(rows)] = np.fromiter(map(found.__getitem__, ordered), np.uint32, len(ordered))
            keys_of = map(_Counted, zip(ordered))
        else:
            keys_of = found
        rows.append(np.fromiter(map(numbers.__getitem__, keys_of), dtype=np.int32))
    words, starts, chunk_terms = _terms_of_chunks(numbers, terms)

    n_chunks = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    occurrences = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
    documents = np.repeat(np.arange(len(rows), dtype=np.int64) << 32, n_chunks)
    keys = _keys(documents, occurrences, starts, chunk_terms)
    keys.sort()

    first = np.flatnonzero(np.diff(keys, prepend=-1))
    tf = np.diff(first, append=len(keys)).astype(np.uint32)
    keys = keys[first]
    indptr = np.searchsorted(keys, np.arange(len(rows) + 1, dtype=np.int64) << 32).astype(np.int64)
    for row, counts in counted.items():
        tf[indptr[row] : indptr[row + 1]] = counts
    most = int(np.diff(indptr).max(initial=0))
    if most > limits.MAX_DOCUMENT_TERMS:
        raise LimitExceeded(f"a text has {most:,} distinct terms, more than {limits.MAX_DOCUMENT_TERMS:,}: split it")
    return FieldBatch(indptr=indptr, terms=words, indices=(keys & 0xFFFFFFFF).astype(np.int32), tf=tf)


def _terms_of_chunks(
    keys: Iterable[Chunk | _Counted], terms: Callable[[Chunk], Iterable[str]]
) -> tuple[list[str], _Ints, _Ints]:
    """Sorted terms; for key i the places [starts[i], starts[i + 1]) of the last array index them."""
    numbers: _Numbering[str] = _Numbering()
    flat, starts = array("q"), array("q", [0])
    for key in keys:
        flat.extend(map(numbers.__getitem__, key if isinstance(key, _Counted) else terms(key)))
        starts.append(len(flat))
    words = sorted(numbers)  # code point order is UTF-8 byte order
    place = np.empty(len(words), dtype=np.int64)
    place[np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))] = np.arange(len(words))
    return words, np.asarray(starts, dtype=np.int64), place[np.asarray(flat, dtype=np.int64)]


def _keys(documents: _Ints, occurrences: npt.NDArray[np.int32], starts: _Ints, chunk_terms: _Ints) -> _Ints:
    """One key for each term of each occurrence of a chunk. Nearly all have exactly one: the fast case."""
    widths = np.diff(starts)
    padded = np.append(chunk_terms, 0)
    keys: _Ints = documents | padded[starts[:-1]][occurrences]
    plain = widths == 1
    if plain.all():
        return keys
    others = np.flatnonzero(~plain[occurrences])
    repeats = widths[occurrences[others]]
    ends = np.cumsum(repeats)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[occurrences[others]] - ends + repeats, repeats)
    return np.concatenate((np.delete(keys, others), np.repeat(documents[others], repeats) | chunk_terms[places]))
