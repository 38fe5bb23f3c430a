"""Cut a long token sequence into overlapping windows, and say which window speaks for which token.

Near the edge of a window a token sees little on one side, so a token in an overlap is taken from the window where it
is more central: each overlap is divided in its middle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from zipfian.errors import InvalidInput

LongTexts = Literal["windows", "cut"]
LEAST_TOKENS = 8


class Windowed(Protocol):
    """An encoder of texts that may be longer than its network takes."""

    max_tokens: int
    """Tokens that go through the network at once, special ones included."""
    long_texts: LongTexts
    """`windows`: a longer text is encoded in overlapping windows. `cut`: only its beginning is."""
    overlap: int
    """Tokens that neighbouring windows share at least."""


def checked_tokens(max_tokens: int, most: int) -> int:
    """Tokens of one window for a network that takes `most`."""
    if not LEAST_TOKENS <= max_tokens <= most:
        raise InvalidInput(f"max_tokens must be {LEAST_TOKENS} to {most} for this model, not {max_tokens}")
    return max_tokens


def checked_long_texts(long_texts: LongTexts) -> LongTexts:
    """One of the two ways to treat a text that is too long."""
    if long_texts not in ("windows", "cut"):
        raise InvalidInput(f"long_texts must be 'windows' or 'cut', not {long_texts!r}")
    return long_texts


def checked_overlap(overlap: int, room: int) -> int:
    """Tokens that neighbouring windows with `room` for tokens may share."""
    if not 0 <= overlap <= room // 2:
        raise InvalidInput(f"overlap must be 0 to {room // 2} (half a window), not {overlap}")
    return overlap


def window_settings(encoder: Windowed) -> dict[str, Any]:
    """How an encoder treats long texts, to make an equal one."""
    return {"max_tokens": encoder.max_tokens, "long_texts": encoder.long_texts, "overlap": encoder.overlap}


def window_fingerprint(encoder: Windowed) -> dict[str, Any]:
    """The part of it that changes a vector: a text that is cut has no windows to overlap."""
    return window_settings(encoder) | ({} if encoder.long_texts == "windows" else {"overlap": None})


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
