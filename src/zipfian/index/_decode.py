"""The compiled reader of posting blocks, for the search path only: importing this module loads numba.

It gives exactly what the numpy code of `postings` gives, at about 2 ns per posting. Every position it uses was computed
from checked widths and counts before it is called; documents are checked here, as they appear.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def decode_blocks(words, bits, first, doc_width, tf_width, counts, opens_term, n_docs, tf_add, docs, tf):  # type: ignore[no-untyped-def]
    """Fill `docs` (int32) and `tf` (uint32: stored value + `tf_add`) from consecutive blocks.

    Parameters are those of `Postings`, `bits` counted from the first of `words`. Returns whether all documents ascend
    within their term and are below `n_docs`.
    """
    one, word_bits, add = np.uint64(1), np.uint64(64), np.uint64(tf_add)
    sound = True
    previous = np.int64(-1)
    at = np.int64(0)
    for b in range(len(counts)):
        n = np.int64(counts[b])
        position = np.uint64(bits[b])
        w = position >> np.uint64(6)
        skipped = position & np.uint64(63)
        current = words[w] >> skipped  # bits of word w not yet used
        left = word_bits - skipped  # how many
        doc = np.int64(first[b])
        if opens_term[b]:
            previous = np.int64(-1)
        if doc <= previous:
            sound = False
        docs[at] = doc
        width = np.uint64(doc_width[b])
        mask = (one << width) - one
        for i in range(at + 1, at + n):
            if left < width:
                w += one
                following = words[w]
                value = (current | (following << left)) & mask
                current = following >> (width - left)
                left += word_bits - width
            else:
                value = current & mask
                current >>= width
                left -= width
            doc += np.int64(value) + 1
            docs[i] = doc
        if doc >= n_docs:
            sound = False
        previous = doc
        width = np.uint64(tf_width[b])
        mask = (one << width) - one
        for i in range(at, at + n):
            if left < width:
                w += one
                following = words[w]
                value = (current | (following << left)) & mask
                current = following >> (width - left)
                left += word_bits - width
            else:
                value = current & mask
                current >>= width
                left -= width
            tf[i] = np.uint32(value + add)
        at += n
    return sound
