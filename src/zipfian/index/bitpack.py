"""Bit packing: runs of small integers, each run with its own width, in one stream of 64-bit words.

A *run* is `count` values of one width `w` (0 to 32 bits). Runs follow each other without gaps, so value
`i` of a run that starts at bit `s` sits at bits [s + i*w, s + (i+1)*w), least significant bit first.
A stream ends with one spare word: whoever reads a value may always load the word after the one it starts in.

Everything here is plain numpy, because writing, merging and checking an index must not need a compiler.
`index/_decode.py` holds the compiled reader of the search path; both give the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index._arrays import Ints, chunks

Words = npt.NDArray[np.uint64]
Values = npt.NDArray[np.uint32]

BLOCK = 128
"""Postings per block: small enough to skip by, large enough that two widths and a first document are cheap."""

WIDEST = 32
"""Bits of the widest value."""

_CHUNK = 1 << 16
"""Values handled at once: the temporaries of the arithmetic then stay in the processor's cache."""


def bit_widths(largest: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Bits needed for each non-negative integer (below 2**53): 0 for 0, 1 for 1, 2 for 2 and 3, ..."""
    return np.frexp(largest.astype(np.float64))[1].astype(np.uint8)


def word_count(bits: int) -> int:
    """Words of a finished stream of that many bits: the one its last bit could be in, and the spare word."""
    return bits // 64 + 2


def pack(values: Values, widths: npt.NDArray[np.uint8], counts: Ints, used: int = 0) -> tuple[Words, int]:
    """Pack runs one after the other; the first value starts at bit `used` (0 to 63) of the first word.

    Each value must fit the width of its run (as widths from `bit_widths` of the run's maximum guarantee).
    Returns the words and the bit after the last value.
    """
    width = np.repeat(widths.astype(np.int64), counts)
    end = np.cumsum(width)
    bits = used + (int(end[-1]) if len(end) else 0)
    out: Words = np.zeros((bits + 63) // 64, np.uint64)
    if bits == used:  # nothing but values of width 0
        return out, bits
    position = end - width + used
    word, shift = position >> 6, (position & 63).astype(np.uint64)
    wide = values.astype(np.uint64)
    # Values start in ascending words, so the bits of one word are one slice: their sum is their union.
    # A value of width 0 at the very end may point past the last word; it holds nothing.
    last = int(np.searchsorted(word, len(out)))
    firsts = np.flatnonzero(np.diff(word[:last], prepend=-1))
    out[word[firsts]] = np.add.reduceat((wide << shift)[:last], firsts)
    # At most one value crosses the end of a word, so these targets are unique.
    crossing = np.flatnonzero((position & 63) + width > 64)
    out[word[crossing] + 1] |= wide[crossing] >> (np.uint64(64) - shift[crossing])
    return out, bits


def unpack(words: Words, starts: Ints, widths: npt.NDArray[np.uint8], counts: Ints) -> Values:
    """The values of the runs that start at the given bits, one run after the other.

    The caller has checked that every run ends inside the stream and that no width is above 32.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    out: Values = np.empty(total, np.uint32)
    for first, last in chunks(ends, _CHUNK):
        low = int(ends[first - 1]) if first else 0
        n = counts[first:last]
        width = widths[first:last].astype(np.int64)
        # Position of value v (counted over all runs) = start of its run + (v - values before the run) * width.
        origin = starts[first:last] - (ends[first:last] - n - low) * width
        wide = np.repeat(width, n)
        position = np.repeat(origin, n) + np.arange(int(ends[last - 1]) - low) * wide
        word, shift = position >> 6, (position & 63).astype(np.uint64)
        joined = words[word] >> shift
        word += 1
        joined |= (words[word] << np.uint64(1)) << (np.uint64(63) - shift)  # two shifts: one by 64 is undefined
        joined &= (np.uint64(1) << wide.astype(np.uint64)) - np.uint64(1)
        out[low : low + len(joined)] = joined
    return out


class BitWriter:
    """Appends runs to a stream, passing on finished words; only the unfinished last word is kept."""

    def __init__(self, sink: Callable[[Words], object]) -> None:
        self._sink = sink
        self._open = np.uint64(0)
        self.bits = 0

    def append(self, values: Values, widths: npt.NDArray[np.uint8], counts: Ints) -> None:
        """Pack more runs behind those already there."""
        ends = np.cumsum(counts)
        for first, last in chunks(ends, _CHUNK):
            low = int(ends[first - 1]) if first else 0
            used = self.bits & 63
            words, bits = pack(values[low : int(ends[last - 1])], widths[first:last], counts[first:last], used)
            if used:
                words[0] |= self._open
            self.bits += bits - used
            whole = bits // 64
            self._open = words[whole] if bits & 63 else np.uint64(0)
            if whole:
                self._sink(words[:whole])

    def close(self) -> None:
        """Write the unfinished word and the spare one."""
        self._sink(np.array([self._open, 0], np.uint64))
