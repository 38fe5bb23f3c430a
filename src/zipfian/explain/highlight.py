"""Show where a text matched: the best passages, with the matching words marked."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zipfian import limits
from zipfian.errors import InvalidInput, shown
from zipfian.explain._graphemes import cut_after, cut_before
from zipfian.types import Token

Mark = tuple[int, int]
"""Characters [start, end) of the original text."""

_REPEATED = 0.1
"""Worth of a further occurrence of a term in the same passage."""
_SHOWN_BEFORE = 0.25
"""Worth of a term that an earlier passage already shows."""
_LONGEST_WORD = 32
"""How far a cut moves to fall between two words."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage of a text. All offsets are into the whole text; `text` is what lies between `start` and `end`."""

    text: str
    start: int
    end: int
    marks: tuple[Mark, ...]
    more_before: bool = False
    more_after: bool = False

    def render(
        self, before: str = "**", after: str = "**", *, escape_html: bool = False, ellipsis: str = "\u2026",
        clean: Callable[[str], str] = str,
    ) -> str:  # fmt: skip
        """The passage with its marks between `before` and `after`, which are inserted as they are.

        The text itself, piece by piece, goes through `clean`, or through `html.escape` with `escape_html`.
        """
        shown = html.escape if escape_html else clean
        parts = [ellipsis] if self.more_before else []
        at = self.start
        for start, end in self.marks:
            parts += [shown(self._part(at, start)), before, shown(self._part(start, end)), after]
            at = end
        parts.append(shown(self._part(at, self.end)))
        if self.more_after:
            parts.append(ellipsis)
        return "".join(parts)

    def _part(self, start: int, end: int) -> str:
        return self.text[start - self.start : end - self.start]


def highlight(
    text: str,
    spans: Iterable[Token],
    *,
    weights: Mapping[str, float] | None = None,
    max_chars: int = 240,
    max_snippets: int = 3,
    faint: float = 0.0,
) -> list[Snippet]:
    """The passages that show the most of what matched, in the order of the text.

    Parameters
    ----------
    text
        The stored text.
    spans
        Occurrences of matching terms in it, as `Words.spans` finds them; overlapping ones become one mark.
    weights
        What showing a term is worth (its share of the score, for example); 1 for terms not named.
    max_chars
        Characters of one snippet. Only a snippet around a character made of many code points may be longer.
    max_snippets
        Snippets to return at most. Without any span there is one, the beginning of the text.
    faint
        Terms worth less than this share of the best one are not marked: beside it they would only distract.

    Takes time linear in the text and in `max_snippets` times the number of spans.
    """
    _check("max_chars", max_chars, limits.MAX_TEXT_CHARS)
    _check("max_snippets", max_snippets, limits.MAX_SNIPPETS)
    tokens = sorted(spans, key=lambda token: (token.start, token.end))
    for token in tokens:
        if not 0 <= token.start < token.end <= len(text):
            raise InvalidInput(f"the span [{token.start}, {token.end}) is not inside a text of {len(text)} characters")
    worth = dict(weights or {})
    tokens = _without_faint(tokens, worth, faint)
    marks = _merge(text, tokens)
    taken: list[Mark] = []
    free = tokens
    while free and len(taken) < max_snippets:
        first, last = _best_window(free, worth, max_chars)
        window = _with_context(text, first, min(last, first + max_chars), max_chars, taken)
        taken.append(window)
        shown = {token.term for token in free if window[0] <= token.start < window[1]}
        worth |= {term: worth.get(term, 1.0) * _SHOWN_BEFORE for term in shown}
        free = [token for token in free if token.end <= window[0] or token.start >= window[1]]
    if not taken:
        taken = [(0, _end_of_words(text, min(max_chars, len(text)), 0))]
    return _snippets(text, sorted(taken), marks)


def _check(name: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from 1 to {most:,}, not {shown(value)}")


def _without_faint(tokens: list[Token], worth: Mapping[str, float], faint: float) -> list[Token]:
    if isinstance(faint, bool) or not isinstance(faint, int | float) or not 0 <= faint <= 1:
        raise InvalidInput(f"faint must be a share from 0 to 1, not {shown(faint)}")
    if not tokens or not faint:
        return tokens
    least = faint * max(worth.get(token.term, 1.0) for token in tokens)
    return [token for token in tokens if worth.get(token.term, 1.0) >= least]


def _merge(text: str, tokens: Sequence[Token]) -> list[Mark]:
    """Overlapping and touching spans as one mark each, widened to whole characters."""
    merged: list[Mark] = []
    for token in tokens:
        start = cut_before(text, token.start, 0)
        end = cut_after(text, token.end, len(text))
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _best_window(tokens: Sequence[Token], worth: Mapping[str, float], max_chars: int) -> Mark:
    """From the start of one token to the end of another: the most valuable stretch that fits, the first of equals."""
    best, best_value = (tokens[0].start, tokens[0].end), -math.inf
    inside: dict[str, int] = {}
    value = 0.0
    after = 0
    for first, token in enumerate(tokens):
        if after < first + 1:
            after, value, inside = first, 0.0, {}
        while after < len(tokens) and (after == first or tokens[after].end - token.start <= max_chars):
            term = tokens[after].term
            count = inside[term] = inside.get(term, 0) + 1
            value += worth.get(term, 1.0) * (1.0 if count == 1 else _REPEATED)
            after += 1
        if value > best_value + 1e-9:
            best, best_value = (token.start, max(tokens[first].end, tokens[after - 1].end)), value
        count = inside[token.term] = inside[token.term] - 1
        value -= worth.get(token.term, 1.0) * (1.0 if count == 0 else _REPEATED)
    return best


def _with_context(text: str, first: int, last: int, max_chars: int, taken: Sequence[Mark]) -> Mark:
    """The window widened to `max_chars`, between its neighbours, cut between words where one ends nearby."""
    floor = max((end for _, end in taken if end <= first), default=0)
    ceiling = min((start for start, _ in taken if start >= last), default=len(text))
    spare = max_chars - (last - first)
    start = max(floor, first - spare // 2)
    end = min(ceiling, start + max_chars)
    start = max(floor, end - max_chars)
    if start > floor:
        start = _start_of_words(text, start, first)
    if end < ceiling:
        end = _end_of_words(text, end, last)
    return min(start, cut_before(text, first, floor)), max(end, cut_after(text, last, ceiling))


def _start_of_words(text: str, at: int, limit: int) -> int:
    for place in range(at, min(limit, at + _LONGEST_WORD) + 1):
        if place == 0 or (text[place - 1].isspace() and not text[place : place + 1].isspace()):
            return place
    return cut_after(text, at, limit)


def _end_of_words(text: str, at: int, limit: int) -> int:
    if at >= len(text):
        return len(text)
    for place in range(at, max(limit, at - _LONGEST_WORD), -1):
        if text[place].isspace() and not text[place - 1].isspace():
            return place
    return cut_before(text, at, limit)


def _snippets(text: str, windows: Sequence[Mark], marks: Sequence[Mark]) -> list[Snippet]:
    found: list[Snippet] = []
    at = 0
    for start, end in windows:
        inside: list[Mark] = []
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        while at < len(marks) and marks[at][0] < end:
            inside.append((max(start, marks[at][0]), min(end, marks[at][1])))
            if marks[at][1] > end:
                break
            at += 1
        found.append(Snippet(text[start:end], start, end, tuple(inside), start > 0, end < len(text)))
    return found
