"""Count the terms of many texts into one sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import LimitExceeded
from zipfian.types import LegBatch

_Ints = npt.NDArray[np.int64]


class _Numbering(dict[str, int]):
    """Numbers strings in order of first sight."""

    def __missing__(self, string: str) -> int:
        self[string] = number = len(self)
        return number


def count_batch(
    texts: Iterable[str], chunks: Callable[[str], Iterable[str]], terms: Callable[[str], Iterable[str]]
) -> LegBatch:
    """Term counts of texts as a `LegBatch`, its terms sorted as UTF-8 bytes.

    Python only numbers the chunks of each text; every distinct chunk becomes terms once, and counting is one numpy
    sort of (document, term) keys.
    """
    numbers = _Numbering()
    rows = [np.fromiter(map(numbers.__getitem__, chunks(text)), dtype=np.int32) for text in texts]
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
    most = int(np.diff(indptr).max(initial=0))
    if most > limits.MAX_DOCUMENT_TERMS:
        raise LimitExceeded(f"a text has {most:,} distinct terms, more than {limits.MAX_DOCUMENT_TERMS:,}: split it")
    return LegBatch(indptr=indptr, terms=words, indices=(keys & 0xFFFFFFFF).astype(np.int32), tf=tf)


def _terms_of_chunks(chunks: Iterable[str], terms: Callable[[str], Iterable[str]]) -> tuple[list[str], _Ints, _Ints]:
    """Sorted terms; for chunk i the places [starts[i], starts[i + 1]) of the last array index them."""
    numbers = _Numbering()
    flat: list[int] = []
    starts = [0]
    for chunk in chunks:
        flat.extend(map(numbers.__getitem__, terms(chunk)))
        starts.append(len(flat))
    words = sorted(numbers)  # code point order is UTF-8 byte order
    place = np.empty(len(words), dtype=np.int64)
    place[[numbers[word] for word in words]] = np.arange(len(words))
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
