"""Cut a long token sequence into overlapping windows, and say which window speaks for which token.

Near the edge of a window a token sees little on one side, so a token in an overlap is taken from the window where it
is more central: each overlap is divided in its middle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, stop) go through the network together; the vectors of [keep_start, keep_stop) are used."""

    start: int
    stop: int
    keep_start: int
    keep_stop: int


def windows(tokens: int, size: int, overlap: int) -> list[Window]:
    """The fewest windows of `size` tokens that overlap by at least `overlap`, spread evenly over the sequence.

    Together the kept parts are exactly [0, tokens), each token once. Windows of a long sequence all have full size.
    """
    if tokens <= size:
        return [Window(0, tokens, 0, tokens)]
    count = -(-(tokens - overlap) // (size - overlap))
    starts = [round(i * (tokens - size) / (count - 1)) for i in range(count)]
    inner = [(right + left + size) // 2 for left, right in itertools.pairwise(starts)]
    edges = [0, *inner, tokens]
    return [Window(s, s + size, edges[i], edges[i + 1]) for i, s in enumerate(starts)]
