"""Cut a long text into passages that an encoder can read in one window.

A pooled vector of a whole book says nothing about any of its pages, and the terms of all its pages together say little.
So a text that does not fit into the window is cut where its author would cut it: between sections, paragraphs, lines,
sentences, and only where there is nothing else between words or characters. Neighbours share a sentence where it is
short, since what is said often begins in the sentence before; and each is read with the title of the text before it.

How long passages are was chosen on abstracts of SciFact and CISI joined by eight and on articles of PIAF and DRCD, even
queries, from 64 to 510 tokens: vectors found more by shorter ones (nDCG@10 of articles in Chinese .81 with 254 tokens,
.84 with 128; of abstracts .71 with 510, .77 with 192), latent terms were level from 192 on and need fewer postings for
longer ones. Titles gave articles another .01 to .02.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from zipfian.errors import ZipfianError

Count = Callable[[Sequence[str]], Sequence[float]]
"""What share of the window each of some texts fills; above 1 it does not fit. Shares of neighbours add up, about."""

Span = tuple[int, int]
"""Characters [start, end) of a text."""

MOST_TOKENS = 192
"""Tokens of a passage at the most; half a window where that is less."""

TITLE_CHARS = 120
"""A first line of more characters is no title."""

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
_SPACE = re.compile(r"\s+")
_LEVELS = (_SECTION, _LINE, _SENTENCE)
WORDS = len(_LEVELS) + 1

_BEGINNING = 1_000
"""Characters in which a title is looked for."""

_COUNTED_CHARS = 1 << 15
"""Of a long text that are counted together."""

_AT_ONCE = 256
"""Pieces counted together."""

_TOGETHER_CHARS = 1 << 20
"""Of many texts that are counted together."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text that stays together, and what share of the window it fills."""

    start: int
    end: int
    share: float
    level: int
    """The boundary it begins at, by how coarse it is: a section (1), a line, a sentence (3), words or characters."""


def fitting(encoder: Any, texts: Sequence[str]) -> list[bool]:
    """Of which texts it is known that an encoder reads them at once, so that `passages` need not be asked.

    Longer ones are counted together, which a tokenizer does on all cores.
    """
    window = _window(encoder)
    if window is None:
        return [True] * len(texts)
    out = [len(text) <= window for text in texts]  # no token has less than a character
    open_, chars = list[int](), 0
    for i, text in enumerate(texts):
        if out[i] or len(text) > _COUNTED_CHARS:
            continue
        open_.append(i)
        chars += len(text)
        if chars >= _TOGETHER_CHARS:
            _mark(encoder, texts, open_, window, out)
            open_, chars = [], 0
    _mark(encoder, texts, open_, window, out)
    return out


def _mark(encoder: Any, texts: Sequence[str], some: Sequence[int], window: int, out: list[bool]) -> None:
    """Count some of the texts; where one of them is bad, none is known to fit."""
    if some:
        with contextlib.suppress(ZipfianError, OSError):
            for i, tokens in zip(some, encoder.count_tokens([texts[i] for i in some]), strict=True):
                out[i] = tokens <= window


def passages(encoder: Any, text: str) -> list[Span]:
    """The parts in which an encoder of texts reads a text: one, if it fits into its window.

    An encoder that has no window, or was told to read the beginning of a long text alone, reads every text at once.
    """
    window = _window(encoder)
    if window is None or len(text) <= window or _tokens(encoder, [text])[0] <= window:
        return [(0, len(text))]
    room = min(MOST_TOKENS, window // 2)
    return cut(text, lambda texts: [n / room for n in _tokens(encoder, texts)])


def _window(encoder: Any) -> int | None:
    """Tokens of a text that an encoder reads at once; None: all of it."""
    size = getattr(encoder, "max_tokens", None)
    if size is None or getattr(encoder, "long_texts", "windows") != "windows":
        return None
    return int(size) - 2  # less the tokens that begin and end one


def _tokens(encoder: Any, texts: Sequence[str]) -> list[int]:
    """Tokens of each text. A book is counted in pieces: an encoder takes no more at once than it could encode."""
    starts = [range(0, max(1, len(text)), _COUNTED_CHARS) for text in texts]
    pieces = [text[at : at + _COUNTED_CHARS] for text, some in zip(texts, starts, strict=True) for at in some]
    counts = iter(encoder.count_tokens(pieces))
    return [sum(next(counts) for _ in some) for some in starts]


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage as an encoder reads it: the title of the text, and then the passage itself."""

    text: str
    """What is read."""
    title: Span
    """Where the title stands in the document; empty where it has none, or the passage begins with it."""
    start: int
    """Where the passage begins in the document."""

    @classmethod
    def of(cls, text: str, span: Span) -> Reading:
        """Of a passage of a document's text."""
        first, last = _title(text)
        if span[0] < last:
            first = last = 0
        head = f"{text[first:last]}\n" if last > first else ""
        return cls(head + text[slice(*span)], (first, last), span[0])

    def place(self, start: int, end: int) -> Span:
        """Where characters [start, end) of what is read stand in the document."""
        first, last = self.title
        head = last - first + 1 if last > first else 0
        by = self.start - head if start >= head else first
        return start + by, end + by


def _title(text: str) -> Span:
    """The first line, if it is one of several and short; else nothing."""
    beginning = text[:_BEGINNING]
    line = beginning.lstrip()
    title, more, _ = line.partition("\n")
    words = title.lstrip("#").strip() if title.startswith("#") else title.strip()
    if not more or not words or len(words) > TITLE_CHARS:
        return 0, 0
    first = len(beginning) - len(line) + title.index(words)
    return first, first + len(words)


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
    return [*out, (pieces[0].start, pieces[-1].end)] if pieces else [(0, len(text))]


def _best_end(pieces: Sequence[_Piece], room: float) -> int:
    """Before which of the pieces to cut: where the coarsest boundary is among the last of them, and as late as can
    be."""
    filled, able = 0.0, [len(pieces) - 1]
    for i, piece in enumerate(pieces[:-1]):
        if i and filled >= LEAST * room:
            able.append(i)
        filled += piece.share
    return min(able, key=lambda i: (pieces[i].level, -i))


def _pieces(text: str, spans: Iterable[Span], count: Count, level: int) -> Iterator[_Piece]:
    """The text in pieces that each fit: sentences, or less where a sentence does not. Only some are in memory."""
    left = iter(spans)
    while some := list(islice(left, _AT_ONCE)):
        for (start, end), share in zip(some, count([text[a:b] for a, b in some]), strict=True):
            if share <= (SHARED if level < len(_LEVELS) else 1.0) or end - start == 1:  # a character is not cut
                yield _Piece(start, end, share, level)
                continue
            if level < len(_LEVELS):
                parts = _split(text, start, end, _LEVELS[level])
            else:
                parts = _even(text, start, end, math.ceil(share / SHARED))
            for i, piece in enumerate(_pieces(text, parts, count, min(level + 1, WORDS))):
                yield piece if i else replace(piece, level=level)  # it begins where the coarser part does


def _even(text: str, start: int, end: int, n: int) -> Iterator[Span]:
    """Text without a boundary in about `n` parts of one length, between words where there are words."""
    step = max(1, (end - start) // n)
    while start < end:
        at = min(end, start + step)
        space = _SPACE.search(text, at, min(end, at + step))
        stop = at if space is None else space.start()
        if not text[start:stop].isspace():
            yield start, stop
        start = stop if space is None else space.end()


def _split(text: str, start: int, end: int, boundary: re.Pattern[str]) -> Iterator[Span]:
    """The parts of text[start:end] between the boundaries; white space between them belongs to none."""
    at = start
    for found in boundary.finditer(text, start, end):
        if found.start() > at and not text[at : found.start()].isspace():
            yield at, found.start()
        at = found.end()
    if at < end and not text[at:end].isspace():
        yield at, end
