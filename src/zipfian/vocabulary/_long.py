"""Long texts, in bounded memory: counting their terms, and finding some of them.

A text within the limits can hold sixteen million words, one of which may be as long as the text. Nothing here keeps a
list of them: distinct spellings are counted at the speed of a dict and analysed once each.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from zipfian import limits
from zipfian.errors import LimitExceeded
from zipfian.types import Token
from zipfian.vocabulary.tokenizer import LONG_CHUNK, chunk_pattern, clusters, cut, is_alone, is_run, pieces

LONG_TEXT = 1 << 16
"""Characters from which a text is worth the detour."""

_AT_ONCE = 1 << 13
_WAITING = 1 << 20
"""Distinct spellings that wait for their analysis."""

_WINDOW = 1 << 12
"""Characters of a run without spaces that are looked at together."""

Span = tuple[str, int, int]

_spelling = operator.itemgetter(0)


class Tally:
    """Counts the terms of one text."""

    def __init__(
        self,
        terms: Callable[[str], Iterable[str]],
        of_piece: Callable[[str], Iterable[str]],
        *,
        join: bool,
        syllables: bool = False,
    ) -> None:
        """`terms` analyses a chunk, `of_piece` a piece; `join` and `syllables` as for `pieces`."""
        self._terms = terms
        self._join = join
        self._syllables = syllables
        self._found: Counter[str] = Counter()
        self._chunks = _Waiting(self._analyse)
        self._pieces = _Waiting(lambda piece, n: self._add(of_piece(piece), n))
        self._alone = _Waiting(lambda cluster, n: self._add(of_piece(_alone(cluster, syllables)), n))

    def count(self, text: str) -> dict[str, int]:
        """How often each term occurs; `LimitExceeded` as soon as there are too many."""
        self._chunks.add(map(_spelling, chunk_pattern(text, syllables=self._syllables).finditer(text)))
        for waiting in (self._chunks, self._pieces, self._alone):
            waiting.settle()
        return self._found

    def _add(self, terms: Iterable[str], n: int) -> None:
        for term in terms:
            if term:
                self._found[term] += n
        if len(self._found) > limits.MAX_DOCUMENT_TERMS:
            raise LimitExceeded(f"a text has more than {limits.MAX_DOCUMENT_TERMS:,} distinct terms: split it")

    def _analyse(self, chunk: str, n: int) -> None:
        """A chunk that occurs n times; a long one is taken apart, and its parts wait in turn."""
        if len(chunk) <= LONG_CHUNK:
            self._add(self._terms(chunk), n)
        elif is_run(chunk, syllables=self._syllables):
            self._count_run(chunk, n)
        elif (apart := cut(chunk, join=self._join)) is not None:
            self._chunks.add(map(_spelling, apart.parts), n)
            self._pieces.add([apart.joined[0]] if apart.joined else [], n)
        else:
            self._pieces.add(map(_spelling, pieces(chunk, join=self._join)), n)

    def _count_run(self, run: str, n: int) -> None:
        """As `_windows`, at the speed of a dict."""
        each, first, second = (clusters(run, syllables=self._syllables) for _ in range(3))
        if len(list(itertools.islice(clusters(run, syllables=self._syllables), 2))) == 1:
            self._pieces.add([run], n)
            return
        self._alone.add(each, n)
        self._pieces.add(map(operator.add, first, itertools.islice(second, 1, None)), n)


class _Waiting:
    """Spellings with their counts, until each is handled once."""

    def __init__(self, handle: Callable[[str, int], None]) -> None:
        self._handle = handle
        self._counts: Counter[str] = Counter()

    def add(self, spellings: Iterable[str], times: int = 1) -> None:
        """Each of them, so many times; handled at once when too many wait."""
        source = iter(spellings)
        while part := list(itertools.islice(source, _AT_ONCE)):
            if times == 1:
                self._counts.update(part)
            else:
                for spelling, n in Counter(part).items():
                    self._counts[spelling] += n * times
            if len(self._counts) > _WAITING:
                self.settle()

    def settle(self) -> None:
        """Handle all of them, and what waits again because of that."""
        while self._counts:
            counts, self._counts = self._counts, Counter()
            for spelling, n in counts.items():
                self._handle(spelling, n)


class Finder:
    """Finds the places of wanted terms in one text."""

    def __init__(
        self,
        spans: Callable[[str], Iterable[Span]],
        of_piece: Callable[[str], Iterable[str]],
        wanted: Collection[str],
        *,
        join: bool,
        syllables: bool = False,
    ) -> None:
        self._join = join
        self._syllables = syllables
        self._chunks = _Memory(lambda chunk: tuple(span for span in spans(chunk) if span[0] in wanted))
        self._pieces = _Memory(lambda piece: tuple((found, 0, 0) for found in of_piece(piece) if found in wanted))

    def find(self, text: str) -> Iterator[Token]:
        """Tokens in the order of their chunks."""
        return self._within(chunk_pattern(text, syllables=self._syllables).finditer(text), 0)

    def _within(self, chunks: Iterable[re.Match[str]], base: int) -> Iterator[Token]:
        for match in chunks:
            chunk, offset = match[0], base + match.start()
            if len(chunk) <= LONG_CHUNK:
                for term, start, end in self._chunks[chunk]:
                    yield Token(term, offset + start, offset + end)
            elif is_run(chunk, syllables=self._syllables):
                yield from self._in_run(chunk, offset)
            elif (apart := cut(chunk, join=self._join)) is not None:
                yield from self._within(apart.parts, offset)
                yield from self._in_pieces([apart.joined] if apart.joined else [], offset)
            else:
                yield from self._in_pieces(pieces(chunk, join=self._join), offset)

    def _in_pieces(self, found: Iterable[Span], offset: int) -> Iterator[Token]:
        for spelling, start, end in found:
            for term, _, _ in self._pieces[spelling]:
                yield Token(term, offset + start, offset + end)

    def _in_run(self, run: str, offset: int) -> Iterator[Token]:
        for window in _windows(run, self._syllables):
            for which, width in ((window.alone, 1), (window.pairs, 2)):
                for n, spelling in enumerate(which):
                    for term, _, _ in self._pieces[spelling]:
                        yield Token(term, offset + window.starts[n], offset + window.starts[n + width])


class _Memory(dict[str, tuple[Span, ...]]):
    """What a spelling gives, asked once; emptied when it has grown too large."""

    def __init__(self, function: Callable[[str], tuple[Span, ...]]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, spelling: str) -> tuple[Span, ...]:
        if len(self) >= _WAITING:
            self.clear()
        self[spelling] = found = self._function(spelling)
        return found


class _Window(NamedTuple):
    """Some characters of a run without spaces, each with its marks."""

    alone: list[str]
    """Those that are terms by themselves; an empty text in place of the others."""
    pairs: list[str]
    """Each with the one after it."""
    starts: list[int]
    """Where each begins in the run, and where the last one ends."""


def _windows(run: str, syllables: bool) -> Iterator[_Window]:
    """The pieces of a run, as `pieces` gives them, some thousand at a time."""
    source, place = clusters(run, syllables=syllables), 0
    held = list(itertools.islice(source, 1))
    while held:
        more = list(itertools.islice(source, _WINDOW))
        spellings = held + more
        pairs = list(map(operator.add, spellings, more))
        alone = spellings if not more else spellings[:-1]
        starts = list(itertools.accumulate(map(len, spellings), initial=place))
        if not place and not more:  # the only one: a piece whatever its script
            pairs, alone, starts = spellings, [], [0, *starts]
        yield _Window([_alone(cluster, syllables) for cluster in alone], pairs, starts)
        place, held = starts[-2], more[-1:]


@functools.lru_cache(1 << 16)
def _alone(cluster: str, syllables: bool) -> str:
    return cluster if is_alone(cluster, syllables=syllables) else ""
