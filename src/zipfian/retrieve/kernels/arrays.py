"""What the kernels read: posting lists by term, and optionally the same postings by document."""

from __future__ import annotations

from typing import Any, NamedTuple


class Postings(NamedTuple):
    """Posting lists by slot; one slot per term.

    A slot s owns positions start[s] .. stop[s] of `loc`, `q` and `tf`, documents ascending.
    """

    start: Any  # int64[slots]
    stop: Any  # int64[slots]
    loc: Any  # uint16[postings]: document number within its window
    q: Any  # uint8[postings]: impact / top impact of the slot * 255, rounded up
    tf: Any  # float32 or float64 [postings]: stored term weight
    top: Any  # float64[slots]: largest impact of the slot
    row: Any  # int32[slots]: row of `bounds`, or -1 for a short list
    bounds: Any  # int64[rows, windows + 1]: where each window starts
    high: Any  # uint16[short postings]: window of each posting of a short list
    high_start: Any  # int64[slots]: start of the slot in `high`
    dense: Any  # int32[slots]: row of `rows`, or -1
    rows: Any  # uint8[dense rows, windows * WINDOW]: q by document, 0 where absent
    peak: Any  # uint8[dense rows, windows * WINDOW / CHUNK]: largest q of each chunk
    rank: Any  # int32[dense rows, windows * WINDOW / CHUNK]: postings of the slot before each chunk


class Forward(NamedTuple):
    """The same postings by document, or empty arrays where only lists are kept."""

    indptr: Any  # int64[documents + 1]
    terms: Any  # int32[postings]: slots, ascending within a document
    tf: Any  # float32 or float64 [postings]
