"""Posting lists in blocks: term -> documents and term frequencies.

A term's postings are cut into blocks of 128 (the last one shorter). A block is two runs of the bit stream, the gaps
between its documents and its term frequencies, so one read of a few hundred bytes brings both:

    gaps      count - 1 values of `doc_width` bits: document i+1 minus document i, minus 1
    tf        count values of `tf_width` bits: tf - 1, or the bit pattern of a (positive) float32

The first document and the two widths of each block are in arrays of their own. Where a block starts is nowhere stored:
it follows from the counts and widths before it. An offset that is computed cannot be forged; one check that the sum
equals the size of the stream covers them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt
from zipfian.index._arrays import Bools, Ints, chunks, offsets
from zipfian.index.bitpack import BLOCK, WIDEST, BitWriter, Values, Words, bit_widths, unpack, word_count
from zipfian.storage.container import SectionFile, SectionWriter

_CHUNK = 1 << 16

Docs = npt.NDArray[np.int32]
Tf = npt.NDArray[np.uint32] | npt.NDArray[np.float32]


def block_counts(df: Ints) -> tuple[Ints, Ints]:
    """Blocks before each term (n_terms + 1) and postings of each block, for terms with these frequencies (all > 0)."""
    term_block = offsets(-(-df // BLOCK))
    counts = np.full(int(term_block[-1]), BLOCK, np.int64)
    counts[term_block[1:] - 1] = (df - 1) % BLOCK + 1
    return term_block, counts


class PostingsWriter:
    """Encodes postings as they come, term after term, into the sections of a field file."""

    def __init__(self, file: SectionWriter) -> None:
        self._file = file
        self._stream = file.stream("postings", np.uint64)
        self._bits = BitWriter(self._stream.append)
        self._first: list[npt.NDArray[np.uint32]] = []
        self._doc_width: list[npt.NDArray[np.uint8]] = []
        self._tf_width: list[npt.NDArray[np.uint8]] = []

    def append(self, df: Ints, docs: Docs, tf: Tf) -> None:
        """The postings of the next `len(df)` terms, `df[i]` (> 0) of them for term i, documents ascending."""
        _, counts = block_counts(df)
        ends = np.cumsum(counts)
        for first, last in chunks(ends, _CHUNK):
            low, high = int(ends[first] - counts[first]), int(ends[last - 1])
            self._append_blocks(counts[first:last], docs[low:high], _stored_tf(tf[low:high]))

    def _append_blocks(self, counts: Ints, docs: Docs, tf: Values) -> None:
        begin = offsets(counts)[:-1]
        gaps = np.empty(len(docs), np.int64)
        gaps[1:] = np.diff(docs) - 1
        gaps[begin] = 0
        doc_width = bit_widths(np.maximum.reduceat(gaps, begin))
        tf_width = bit_widths(np.maximum.reduceat(tf, begin))
        # Lay the runs out in stream order: the gaps of a block (its first document has none), then its tf.
        out = np.empty(2 * len(docs) - len(counts), np.uint32)
        starts = 2 * begin - np.arange(len(begin))
        inside = np.arange(len(docs)) + np.repeat(starts - begin, counts)
        has_gap = np.ones(len(docs), np.bool_)
        has_gap[begin] = False
        out[inside[has_gap] - 1] = gaps[has_gap]
        out[inside + np.repeat(counts - 1, counts)] = tf
        self._bits.append(out, _pairs(doc_width, tf_width), _pairs(counts - 1, counts))
        self._first.append(docs[begin].astype(np.uint32))
        self._doc_width.append(doc_width)
        self._tf_width.append(tf_width)

    def close(self) -> None:
        """End the stream and write the arrays that describe the blocks."""
        self._bits.close()
        self._stream.end()
        self._file.add("block_first", np.concatenate([np.empty(0, np.uint32), *self._first]))
        self._file.add("block_doc_width", np.concatenate([np.empty(0, np.uint8), *self._doc_width]))
        self._file.add("block_tf_width", np.concatenate([np.empty(0, np.uint8), *self._tf_width]))


class Postings:
    """The posting lists of a field file, with everything that decoding relies on checked.

    The arrays are what a kernel needs: block b of term t (`term_block[t]` <= b < `term_block[t + 1]`) holds `counts[b]`
    postings, starts at bit `block_bit[b]` of the stream and at document `first[b]`.
    """

    def __init__(self, file: SectionFile, df: Ints, n_docs: int, float_tf: bool) -> None:
        self.file = file
        self.n_docs = n_docs
        self.float_tf = float_tf
        n_blocks = int((-(-df // BLOCK)).sum())
        if n_blocks != file.length("block_first"):  # before anything is allocated by this number
            raise IndexCorrupt(file.name, f"has {file.length('block_first')} blocks of postings, not {n_blocks}")
        self.term_block, counts = block_counts(df)
        self.counts = counts.astype(np.uint8)
        self.first: npt.NDArray[np.uint32] = file.array("block_first")
        self.doc_width: npt.NDArray[np.uint8] = file.array("block_doc_width")
        self.tf_width: npt.NDArray[np.uint8] = file.array("block_tf_width")
        for width in (self.doc_width, self.tf_width):
            if len(width) and int(width.max()) > WIDEST:
                raise IndexCorrupt(file.name, f"has values of more than {WIDEST} bits")
        self.block_bit = offsets((counts - 1) * self.doc_width + counts * self.tf_width)
        if word_count(int(self.block_bit[-1])) != file.length("postings"):
            raise IndexCorrupt(file.name, "its postings are not as long as its blocks say")

    def terms(self, low: int, high: int, compiled: bool = False) -> tuple[Docs, Tf]:
        """Documents and tf of the terms [low, high), one after the other."""
        return self.blocks(int(self.term_block[low]), int(self.term_block[high]), compiled)

    def blocks(self, low: int, high: int, compiled: bool = False) -> tuple[Docs, Tf]:
        """Documents and tf of the blocks [low, high). `compiled` decodes with numba, to the same arrays."""
        sound, docs, raw = (self._decode_compiled if compiled else self._decode)(low, high)
        if not sound:
            raise IndexCorrupt(self.file.name, "a posting list has documents out of order or out of range")
        return docs, self._tf(raw)

    def words(self, low: int, high: int) -> tuple[Words, Ints]:
        """The verified words that hold blocks [low, high) and the next one, and where in them each block starts."""
        bits = self.block_bit[low:high]
        first_word, end_bit = int(self.block_bit[low]) >> 6, int(self.block_bit[high])
        words: Words = self.file.part("postings", first_word, word_count(end_bit))
        return words, bits - (first_word << 6)

    def _decode_compiled(self, low: int, high: int) -> tuple[bool, Docs, Values]:
        from zipfian.index._decode import decode_blocks

        words, bits = self.words(low, high)
        counts = self.counts[low:high]
        docs, raw = np.empty(int(counts.sum()), np.int32), np.empty(int(counts.sum()), np.uint32)
        sound = decode_blocks(
            words,
            bits,
            self.first[low:high],
            self.doc_width[low:high],
            self.tf_width[low:high],
            counts,
            self._opens_term(low, high),
            self.n_docs,
            0 if self.float_tf else 1,
            docs,
            raw,
        )
        return bool(sound), docs, raw

    def _decode(self, low: int, high: int) -> tuple[bool, Docs, Values]:
        begin = offsets(self.counts[low:high])
        docs, raw = np.empty(int(begin[-1]), np.int32), np.empty(int(begin[-1]), np.uint32)
        for first, last in chunks(begin[1:], _CHUNK):
            piece = slice(int(begin[first]), int(begin[last]))
            wide, raw[piece] = self._decode_chunk(low + first, low + last)
            if int(wide.max()) >= self.n_docs:
                return False, docs, raw
            docs[piece] = wide
        # Gaps make documents ascend inside a block; a block of the same term must start above the one before.
        falls = docs[begin[1:-1]] <= docs[begin[1:-1] - 1]
        return not np.any(falls & ~self._opens_term(low, high)[1:]), docs, raw

    def _decode_chunk(self, low: int, high: int) -> tuple[Ints, Values]:
        words, bits = self.words(low, high)
        counts = self.counts[low:high].astype(np.int64)
        doc_width, tf_width = self.doc_width[low:high], self.tf_width[low:high]
        begin = offsets(counts)
        steps = np.empty(int(begin[-1]), np.int64)
        follows = np.ones(len(steps), np.bool_)
        follows[begin[:-1]] = False
        steps[follows] = unpack(words, bits, doc_width, counts - 1)
        steps[follows] += 1
        raw = unpack(words, bits + (counts - 1) * doc_width, tf_width, counts)
        if not self.float_tf:
            raw += np.uint32(1)
        # One running sum over all blocks; what it had reached before a block is taken off again.
        first = self.first[low:high].astype(np.int64)
        steps[begin[:-1]] = first
        reached = np.cumsum(steps)
        return reached - np.repeat(reached[begin[:-1]] - first, counts), raw

    def _tf(self, raw: Values) -> Tf:
        if not self.float_tf:
            if len(raw) and int(raw.min()) == 0:  # tf - 1 was 2**32 - 1
                raise IndexCorrupt(self.file.name, "a term frequency is out of range")
            return raw
        tf = raw.view(np.float32)
        if not np.all((tf > 0) & np.isfinite(tf)):
            raise IndexCorrupt(self.file.name, "a term weight is not a positive number")
        return tf

    def _opens_term(self, low: int, high: int) -> Bools:
        """Which of the blocks are the first of their term."""
        flags = np.zeros(high - low, np.bool_)
        begin, end = np.searchsorted(self.term_block, [low, high])
        flags[self.term_block[begin:end] - low] = True
        return flags


def _stored_tf(tf: npt.NDArray[Any]) -> Values:
    if tf.dtype == np.float32:
        return tf.view(np.uint32)
    return (tf - 1).astype(np.uint32)


def _pairs(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = np.empty(2 * len(left), left.dtype)
    out[::2], out[1::2] = left, right
    return out
