"""The term dictionary of a field: terms in ascending order, numbered from 0.

Term ids are one sorted array. Words are one blob of UTF-8 and the offset of each, in byte order (which is code point
order, so Python's own order of strings). Looking a word up is a binary search on the mapped bytes: opening an index
creates no Python object per term, and only the words of a small dictionary are made into a list when one is looked up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index._arrays import Ints, offsets, smallest_uint
from zipfian.limits import MAX_TERM_BYTES, MAX_TERMS
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.storage.sections import read_offsets


class TermDictionary(Protocol):
    """What both kinds of dictionary can do."""

    kind: str

    def __len__(self) -> int: ...

    def lookup(self, term: str | int) -> int:
        """The number of a term, -1 when it is not there."""

    def term(self, index: int) -> str | int:
        """The term of a number."""

    def select(self, keep: Ints) -> TermDictionary:
        """The dictionary of some of the terms (their numbers, ascending)."""

    def write(self, file: SectionWriter) -> None:
        """Add the dictionary's sections to a file."""

    def verify(self) -> None:
        """`IndexCorrupt` unless the terms are what a writer leaves behind."""


class IdTerms:
    """A dictionary of term ids (integers)."""

    kind = "int"

    def __init__(self, ids: npt.NDArray[Any], name: str = "") -> None:
        self.ids = ids
        self.name = name

    def __len__(self) -> int:
        return len(self.ids)

    def lookup(self, term: str | int) -> int:
        if isinstance(term, str):
            raise InvalidInput(f"this field's terms are numbers, not words: {term[:80]!r}")
        if not 0 <= term <= MAX_TERMS or not len(self.ids):
            return -1
        at = int(np.searchsorted(self.ids, self.ids.dtype.type(term))) if term <= int(self.ids[-1]) else len(self.ids)
        return at if at < len(self.ids) and int(self.ids[at]) == term else -1

    def term(self, index: int) -> int:
        return int(self.ids[index])

    def select(self, keep: Ints) -> IdTerms:
        return IdTerms(self.ids[keep])

    def write(self, file: SectionWriter) -> None:
        file.add("terms", smallest_uint(self.ids))

    def verify(self) -> None:
        if np.any(self.ids[1:] <= self.ids[:-1]) or (len(self.ids) and int(self.ids[-1]) >= MAX_TERMS):
            raise IndexCorrupt(self.name, "its term ids are not ascending or out of range")


_SMALL = 4_096
"""A dictionary of so few words is read at once: after a commit every query looks into each of many small ones."""


class WordTerms:
    """A dictionary of words."""

    kind = "str"

    def __init__(self, blob: npt.NDArray[np.uint8], ends: npt.NDArray[Any], name: str = "") -> None:
        self.blob = blob
        self.offsets = ends
        self.name = name  # of the file, for error messages
        self._bytes = blob.data

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lookup(self, term: str | int) -> int:
        if not isinstance(term, str):
            raise InvalidInput(f"this field's terms are words, not numbers: {term!r}")
        try:
            key = term.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: no stored word has one
            return -1
        at = self.position(key)
        return at if at < len(self) and self.raw(at) == key else -1

    @cached_property
    def _words(self) -> list[bytes]:
        return self.all_raw()

    def position(self, key: bytes) -> int:
        """How many terms come before these UTF-8 bytes."""
        low, high = 0, len(self)
        if high <= _SMALL:
            return bisect_left(self._words, key)
        while low < high:
            middle = (low + high) // 2
            if self.raw(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def raw(self, index: int) -> bytes:
        """The UTF-8 bytes of a term."""
        return self._bytes[int(self.offsets[index]) : int(self.offsets[index + 1])].tobytes()

    def term(self, index: int) -> str:
        try:
            return self.raw(index).decode()
        except UnicodeDecodeError as e:
            raise IndexCorrupt(self.name, f"term {index} of its dictionary is not UTF-8") from e

    def all_raw(self) -> list[bytes]:
        """The UTF-8 bytes of every term: for merging, checking and small dictionaries."""
        data, ends = self.blob.tobytes(), self.offsets.tolist()
        return [data[a:b] for a, b in pairwise(ends)]

    def select(self, keep: Ints) -> WordTerms:
        return WordTerms.from_raw([self.raw(i) for i in keep.tolist()])

    @classmethod
    def from_raw(cls, words: Sequence[bytes]) -> WordTerms:
        """A dictionary of sorted, unique UTF-8 strings."""
        sizes = np.fromiter((len(w) for w in words), np.int64, len(words))
        return cls(np.frombuffer(b"".join(words), np.uint8), offsets(sizes))

    @classmethod
    def read(cls, file: SectionFile, prefix: str = "") -> WordTerms:
        """The dictionary that `write` left in a file, its two sections already required."""
        blob = file.array(prefix + "terms")
        return cls(blob, read_offsets(file, prefix + "term_offsets", len(blob)), file.name)

    def write(self, file: SectionWriter, prefix: str = "") -> None:
        file.add(prefix + "terms", self.blob)
        file.add(prefix + "term_offsets", smallest_uint(self.offsets))

    def verify(self) -> None:
        before = None
        for i in range(len(self)):
            raw = self.term(i).encode()
            if before is not None and raw <= before:
                raise IndexCorrupt(self.name, "its words are not in ascending order")
            before = raw


def make_terms(terms: Sequence[str] | npt.NDArray[np.int64]) -> IdTerms | WordTerms:
    """The dictionary of a batch; `InvalidInput` unless its terms are sorted, unique and within the limits."""
    if isinstance(terms, np.ndarray):
        ids = terms.astype(np.int64)
        if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= MAX_TERMS or np.any(ids[1:] <= ids[:-1])):
            raise InvalidInput(f"term ids must be ascending, without repeats, and from 0 to {MAX_TERMS - 1}")
        return IdTerms(ids)
    try:
        words = [t.encode() for t in terms]
    except UnicodeEncodeError as e:
        raise InvalidInput(f"a word is not valid Unicode text: {str(e.object)[:80]!r}") from e
    if words and max(map(len, words)) > MAX_TERM_BYTES:
        raise LimitExceeded(f"a word has {max(map(len, words))} bytes; the limit is {MAX_TERM_BYTES}")
    if any(a >= b for a, b in pairwise(words)):
        raise InvalidInput("words must be in ascending order, without repeats")
    return WordTerms.from_raw(words)


def read_terms(file: SectionFile, kind: str) -> IdTerms | WordTerms:
    """The dictionary of a field file, its sections already required."""
    return IdTerms(file.array("terms"), file.name) if kind == "int" else WordTerms.read(file)


def merge_ids(parts: Sequence[IdTerms]) -> tuple[IdTerms, list[Ints]]:
    """The union of dictionaries of term ids, and for each of them where its terms went."""
    ids, places = np.unique(np.concatenate([p.ids.astype(np.int64) for p in parts]), return_inverse=True)
    return IdTerms(ids), np.split(places.astype(np.int64), np.cumsum([len(p) for p in parts])[:-1])


def merge_words(parts: Sequence[WordTerms]) -> tuple[WordTerms, list[Ints]]:
    """The union of dictionaries of words, and for each of them where its terms went."""
    words = [w for p in parts for w in p.all_raw()]
    # Sorting sorted lists that were put together is a merge: timsort finds the runs.
    order = sorted(range(len(words)), key=words.__getitem__)
    fresh = [i == 0 or words[order[i - 1]] != words[order[i]] for i in range(len(order))]
    places = np.empty(len(order), np.int64)
    places[np.array(order, np.int64)] = np.cumsum(fresh) - 1
    union = WordTerms.from_raw([words[i] for i, new in zip(order, fresh, strict=True) if new])
    return union, np.split(places, np.cumsum([len(p) for p in parts])[:-1])


def merge_terms(parts: Sequence[IdTerms | WordTerms]) -> tuple[IdTerms | WordTerms, list[Ints]]:
    """The union of dictionaries of one kind, and for each of them where its terms went."""
    for part in parts:
        part.verify()  # what is written is in order, whatever was read
    words = [p for p in parts if isinstance(p, WordTerms)]
    return merge_words(words) if words else merge_ids([p for p in parts if isinstance(p, IdTerms)])
