"""Cut a long text into passages that an encoder can read in one window.

A pooled vector of a whole book says nothing about any of its pages, and the terms of all its pages together say little.
So a text that does not fit into the window is cut where its author would cut it: between sections, paragraphs, lines,
sentences, and only where there is nothing else between words or characters. Neighbours share a sentence where it is
short, since what is said often begins in the sentence before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

Count = Callable[[Sequence[str]], Sequence[float]]
"""What share of the window each of some texts fills; above 1 it does not fit. Shares of neighbours add up, about."""

Span = tuple[int, int]
"""Characters [start, end) of a text."""

FULL = 0.9
"""Passages are planned to fill so much of the window: sentences come in whole."""

SHARED = 0.15
"""A sentence that fills no more of the window than this is read with both of the passages it stands between."""

LEAST = 0.5
"""A passage may end at a coarser boundary once it has so much of its size."""

PARAGRAPH = 1
"""The level of what begins a section or a paragraph: nothing is shared across it."""

_SECTION = re.compile(r"\n(?=#{1,6} )|\n[ \t]*\n\s*")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？｡؟۔।॥])")
_WORD = re.compile(r"\s+")
_LEVELS = (_SECTION, _LINE, _SENTENCE, _WORD)
_SENTENCES = 3

_AT_ONCE = 256
"""Pieces counted together."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text that stays together, and what share of the window it fills."""

    start: int
    end: int
    share: float
    level: int
    """The boundary it begins at, by how coarse it is: a section (1), a line, a sentence, a word (4)."""


def passages(encoder: Any, text: str) -> list[Span]:
    """The parts in which an encoder of texts reads a text: one, if it fits into its window.

    An encoder that has no window, or was told to read the beginning of a long text alone, reads every text at once.
    """
    size = getattr(encoder, "max_tokens", None)
    if size is None or getattr(encoder, "long_texts", "windows") != "windows":
        return [(0, len(text))]
    room = size - 2  # for the tokens that begin and end a window
    if len(text) <= room:  # no token has less than a character
        return [(0, len(text))]
    return cut(text, lambda texts: [n / room for n in encoder.count_tokens(texts)])


def cut(text: str, count: Count) -> list[Span]:
    """The passages of a text in order, of about one size; the text itself where it fits."""
    whole = count([text])[0]
    if whole <= 1.0:
        return [(0, len(text))]
    room = whole / math.ceil(whole / FULL)
    out: list[Span] = []
    pieces: list[_Piece] = []
    for piece in _pieces(text, [(0, len(text))], count, 0):
        filled = sum(one.share for one in pieces)
        if pieces and (filled + piece.share > 1.0 or filled + piece.share / 2 > room):
            pieces.append(piece)
            at = _best_end(pieces, room)
            out.append((pieces[0].start, pieces[at - 1].end))
            rest = pieces[at:]
            before = pieces[at - 1]
            fits = before.share <= SHARED and before.share + sum(one.share for one in rest) <= 1.0
            pieces = [before, *rest] if at > 1 and fits and rest[0].level > PARAGRAPH else rest
        else:
            pieces.append(piece)
    out.append((pieces[0].start, pieces[-1].end))
    return out


def _best_end(pieces: Sequence[_Piece], room: float) -> int:
    """Before which of the pieces to cut: where the coarsest boundary is among the last of them, and as late as can
    be."""
    filled, able = 0.0, [len(pieces) - 1]
    for i, piece in enumerate(pieces[:-1]):
        if i and filled >= LEAST * room:
            able.append(i)
        filled += piece.share
    return min(able, key=lambda i: (pieces[i].level, -i))


def _pieces(text: str, spans: Sequence[Span], count: Count, level: int) -> Iterator[_Piece]:
    """The text in pieces that each fit: sentences, or less where a sentence does not."""
    for at in range(0, len(spans), _AT_ONCE):
        some = spans[at : at + _AT_ONCE]
        for (start, end), share in zip(some, count([text[a:b] for a, b in some]), strict=True):
            if share <= (SHARED if level < _SENTENCES else 1.0):
                yield _Piece(start, end, share, level)
            elif level < len(_LEVELS):
                finer = _pieces(text, list(_split(text, start, end, _LEVELS[level])), count, level + 1)
                for i, piece in enumerate(finer):
                    yield piece if i else replace(piece, level=level)  # it begins where the coarser part does
            else:
                middle = (start + end) // 2
                yield from _pieces(text, [(start, middle), (middle, end)], count, level)


def _split(text: str, start: int, end: int, boundary: re.Pattern[str]) -> Iterator[Span]:
    """The parts of text[start:end] between the boundaries; white space between them belongs to none."""
    at = start
    for found in boundary.finditer(text, start, end):
        if found.start() > at and not text[at : found.start()].isspace():
            yield at, found.start()
        at = found.end()
    if at < end and not text[at:end].isspace():
        yield at, end
