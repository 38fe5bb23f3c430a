"""What the kernels read: posting lists by term."""

from __future__ import annotations

from typing import Any, NamedTuple


class Postings(NamedTuple):
    """Posting lists by slot; one slot per term.

    Kernels take the arrays they need out of this tuple before their loops: every time an array is taken out, its
    references are counted, which costs as much as adding several postings.

    A slot s owns positions start[s] .. stop[s] of `loc`, `q` and `code` or `tf`, documents ascending. Weights that take
    few values, as counts and hundredths do, are numbers of a table; others stay as they are. One of the two is empty.
    """

    start: Any  # int64[slots]
    stop: Any  # int64[slots]
    loc: Any  # uint16[postings + SPAN]: document number within its window
    q: Any  # uint8[postings]: impact / top impact of the slot * 255, rounded up
    tf: Any  # float32 or float64 [postings]: stored term weight; or empty
    code: Any  # uint16[postings]: place of the stored term weight in `table`; or empty
    table: Any  # float64: term weights
    top: Any  # float64[slots]: largest impact of the slot
    row: Any  # int32[slots]: row of `bounds`, or -1 for a short list
    bounds: Any  # int32[rows, windows + 1]: postings of the slot before each window
    high: Any  # uint16[short postings]: window of each posting of a short list
    high_start: Any  # int64[slots]: start of the slot in `high`
    dense: Any  # int32[slots]: row of `rows`, or -1
    rows: Any  # uint8[dense rows, windows * WINDOW]: q by document, 0 where absent
    peak: Any  # uint8[dense rows, windows * WINDOW / CHUNK]: largest q of each chunk
    rank: Any  # int32[dense rows, windows * WINDOW / CHUNK]: postings of the slot before each chunk
