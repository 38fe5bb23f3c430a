"""The forward index: document -> its terms, so that a delete, an explanation or a merge costs O(document).

Documents come in groups of 64. A group of n postings over a vocabulary of V terms is one Elias-Fano sequence (Elias,
J. ACM 1974; Fano, 1971): each term number is split into `low` bits, stored as they are, and the rest, stored in unary.
With H = ceil(V / 2**low) and docs of the group numbered from 0, the posting (doc, term), the k-th of its group, sets
bit doc * H + (term >> low) + k of the group's high part. That takes about 2 + log2(V * docs / n) bits per posting
(12.1 for 16 of 18,432 terms), and the number of terms of each document need not be stored at all.

    stream    per group: the high part, padded to a multiple of 32 bits, then n values of `low` bits
    counts    n of each group; where a group starts follows from the counts before it
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt
from zipfian.index._arrays import Ints, chunks, offsets, smallest_uint
from zipfian.index.bitpack import BitWriter, Values, Words, unpack, word_count
from zipfian.storage.container import SectionFile, SectionWriter

GROUP = 64
"""Documents that are decoded together."""

_CHUNK = 1 << 18
"""Bits of the high parts that are handled at once."""

Rows = tuple[Ints, npt.NDArray[np.int32]]
"""Terms of consecutive documents: where each document starts (n + 1), and the term indices."""


def low_bits(n_docs: int, n_terms: int, n_postings: int) -> int:
    """The split that takes least space."""

    def size(low: int) -> int:
        return n_postings * (1 + low) + n_docs * _high_values(n_terms, low)

    return min(range(32), key=size)


class ForwardWriter:
    """Encodes the rows of documents as they come."""

    def __init__(self, file: SectionWriter, n_docs: int, n_terms: int, n_postings: int) -> None:
        self.low = low_bits(n_docs, n_terms, n_postings)
        self._per_doc = _high_values(n_terms, self.low)
        self._file = file
        self._stream = file.stream("forward", np.uint64)
        self._bits = BitWriter(self._stream.append)
        self._counts: list[Ints] = []
        self._waiting: list[tuple[Ints, npt.NDArray[np.int32]]] = []
        self._n_waiting = 0

    def append(self, counts: Ints, indices: npt.NDArray[np.int32]) -> None:
        """The next `len(counts)` documents: how many terms each has, and the terms, ascending per document."""
        self._waiting.append((counts, indices))
        self._n_waiting += len(counts)
        whole = self._n_waiting // GROUP * GROUP
        if whole:
            counts, indices = self._take_waiting()
            cut = int(counts[:whole].sum())
            self._append_groups(counts[:whole], indices[:cut])
            self._waiting, self._n_waiting = [(counts[whole:], indices[cut:])], len(counts) - whole

    def close(self) -> None:
        """Write the last, shorter group, the end of the stream and the counts."""
        counts, indices = self._take_waiting()
        if len(counts):
            self._append_groups(counts, indices)
        self._bits.close()
        self._stream.end()
        self._file.add("forward_counts", smallest_uint(np.concatenate([np.empty(0, np.int64), *self._counts])))

    def _take_waiting(self) -> tuple[Ints, npt.NDArray[np.int32]]:
        counts = np.concatenate([np.empty(0, np.int64), *(c for c, _ in self._waiting)])
        return counts, np.concatenate([np.empty(0, np.int32), *(i for _, i in self._waiting)])

    def _append_groups(self, counts: Ints, indices: npt.NDArray[np.int32]) -> None:
        per_group = np.add.reduceat(counts, np.arange(0, len(counts), GROUP))
        begin = offsets(counts)
        for first, last in chunks(np.cumsum(per_group + GROUP * self._per_doc), _CHUNK):
            docs = slice(first * GROUP, min(last * GROUP, len(counts)))
            piece = indices[int(begin[docs.start]) : int(begin[docs.stop])]
            self._append_chunk(counts[docs], piece, per_group[first:last])
        self._counts.append(per_group)

    def _append_chunk(self, counts: Ints, indices: npt.NDArray[np.int32], per_group: Ints) -> None:
        layout = _Layout(per_group, len(counts), self._per_doc)
        doc = np.repeat(np.arange(len(counts)) % GROUP, counts)
        flags = np.zeros(int(layout.high_end[-1]) * 32, np.uint8)
        flags[layout.bit_base + doc * self._per_doc + (indices >> self.low)] = 1
        values: Values = np.empty(layout.n_values, np.uint32)
        values[layout.high_at] = np.packbits(flags, bitorder="little").view("<u4")
        values[layout.low_at] = indices & ((1 << self.low) - 1)
        self._bits.append(values, *layout.runs(self.low))


class Forward:
    """The forward index of a field file."""

    def __init__(self, file: SectionFile, n_docs: int, n_terms: int, n_postings: int, low: int) -> None:
        self._file = file
        self.n_docs = n_docs
        self.n_terms = n_terms
        self._low = low
        self._per_doc = _high_values(n_terms, low)
        self.counts: Ints = file.array("forward_counts").astype(np.int64)
        if int(self.counts.sum()) != n_postings or (len(self.counts) and int(self.counts.max()) > GROUP * n_terms):
            raise IndexCorrupt(file.name, "its forward index has not as many postings as the field")
        sizes = np.full(len(self.counts), GROUP, np.int64)
        sizes[-1:] = (n_docs - 1) % GROUP + 1
        self._starts = offsets(32 * -(-(sizes * self._per_doc + self.counts) // 32) + self.counts * low)
        if word_count(int(self._starts[-1])) != file.length("forward"):
            raise IndexCorrupt(file.name, "its forward index is not as long as its counts say")

    def rows(self, start: int, stop: int) -> Rows:
        """The terms of documents [start, stop), which must be in range."""
        if start == stop:
            return np.zeros(1, np.int64), np.empty(0, np.int32)
        first, last = start // GROUP, -(-stop // GROUP)
        counts, indices = [], []
        for low, high in chunks(np.cumsum(self.counts[first:last] + GROUP * self._per_doc), _CHUNK):
            n, found = self._groups(first + low, first + high)
            counts.append(n)
            indices.append(found)
        indptr = offsets(np.concatenate(counts))
        terms = np.concatenate(indices)
        inside = indptr[start - first * GROUP : stop - first * GROUP + 1]
        return inside - inside[0], terms[int(inside[0]) : int(inside[-1])]

    def scan(self) -> Iterator[tuple[int, Ints, npt.NDArray[np.int32]]]:
        """All documents in pieces of a bounded number of postings (or one group): first document, and its rows."""
        for low, high in chunks(np.cumsum(self.counts + GROUP * self._per_doc), _CHUNK):
            n, terms = self._groups(low, high)
            yield low * GROUP, offsets(n), terms

    def mean_terms(self, docs: Ints) -> Ints:
        """About how many terms each of some documents has: the mean of its group, at least 1. Reads no row."""
        return self.counts[docs // GROUP] // GROUP + 1

    def select(self, docs: Ints) -> Rows:
        """The terms of the given documents (ascending); groups that none of them is in are not read."""
        counts, indices = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        groups = docs // GROUP
        breaks = np.flatnonzero(np.diff(groups) > 1) + 1
        for run in np.split(docs, breaks) if len(docs) else []:
            start = int(run[0]) // GROUP * GROUP
            indptr, terms = self.rows(start, int(run[-1]) + 1)
            per_doc = np.diff(indptr)
            wanted = np.zeros(len(per_doc), np.bool_)
            wanted[run - start] = True
            counts.append(per_doc[wanted])
            indices.append(terms[np.repeat(wanted, per_doc)])
        return offsets(np.concatenate(counts)), np.concatenate(indices)

    def _groups(self, first: int, last: int) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Terms per document and terms of whole groups."""
        n_docs = min(last * GROUP, self.n_docs) - first * GROUP
        layout = _Layout(self.counts[first:last], n_docs, self._per_doc)
        word = int(self._starts[first]) >> 6
        words: Words = self._file.part("forward", word, word_count(int(self._starts[last])))
        widths, counts = layout.runs(self._low)
        values = unpack(words, int(self._starts[first]) - (word << 6) + layout.run_starts(self._low), widths, counts)
        bits = np.unpackbits(values[layout.high_at].view(np.uint8), bitorder="little")
        ones = np.flatnonzero(bits)
        if len(ones) != len(layout.bit_base):
            raise self._damaged()
        doc, high = np.divmod(ones - layout.bit_base, self._per_doc)
        doc += GROUP * layout.group
        term = (high << self._low) | values[layout.low_at]
        key = doc * self.n_terms + term
        if len(ones) and (
            np.any(ones < layout.bit_base)
            or np.any(doc >= np.minimum(GROUP * (layout.group + 1), n_docs))
            or int(term.max()) >= self.n_terms
            or np.any(key[1:] <= key[:-1])
        ):
            raise self._damaged()
        return np.bincount(doc, minlength=n_docs), term.astype(np.int32)

    def _damaged(self) -> IndexCorrupt:
        return IndexCorrupt(self._file.name, "its forward index does not hold ascending terms of its documents")


class _Layout:
    """Where the values of consecutive groups lie: in the stream, and in arrays of all high and all low parts."""

    def __init__(self, per_group: Ints, n_docs: int, per_doc: int) -> None:
        sizes = np.full(len(per_group), GROUP, np.int64)
        sizes[-1] = n_docs - GROUP * (len(per_group) - 1)
        self.n_high = -(-(sizes * per_doc + per_group) // 32)
        self.n_low = per_group
        self.high_end = np.cumsum(self.n_high)
        low_end = np.cumsum(per_group)
        self.n_values = int(self.high_end[-1] + low_end[-1])
        self.group = np.repeat(np.arange(len(per_group)), per_group)
        rank = np.arange(int(low_end[-1]))
        # Bit of posting k of a group, less doc * H + (term >> low): the group's first bit plus k.
        self.bit_base = rank + np.repeat(32 * (self.high_end - self.n_high) - (low_end - per_group), per_group)
        self.high_at = np.arange(int(self.high_end[-1])) + np.repeat(low_end - per_group, self.n_high)
        self.low_at = rank + np.repeat(self.high_end, per_group)

    def runs(self, low: int) -> tuple[npt.NDArray[np.uint8], Ints]:
        """Width and count of each run: high, low, high, low, ..."""
        counts = np.stack([self.n_high, self.n_low], axis=1).reshape(-1)
        return np.tile(np.array([32, low], np.uint8), len(self.n_low)), counts

    def run_starts(self, low: int) -> Ints:
        """First bit of each run, the first group starting at bit 0."""
        widths, counts = self.runs(low)
        return offsets(widths * counts)[:-1]


def _high_values(n_terms: int, low: int) -> int:
    """Values that `term >> low` takes: the zeros each document costs in the high part."""
    return (max(n_terms, 1) - 1 >> low) + 1
