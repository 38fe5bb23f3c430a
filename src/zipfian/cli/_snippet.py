"""The part of a text that shows best why it was found, with the matching words marked."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zipfian.cli._output import MATCH, printable, wants_colour
from zipfian.types import Explanation
from zipfian.vocabulary.stopwords import stop_words

_SPACE = re.compile(r"\s")

FAINT = 0.1
"""A term that brings less than this share of what the best term brings is not marked: it would only distract."""

WEAK = 0.6
"""Of the words that fired a latent term, those with less than this share of the strongest are not marked."""


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """Characters [start, end) of a text, the term they stand for, and what it contributed to the score."""

    start: int
    end: int
    term: str = ""
    value: float = 1.0


def matches_of(explanation: Explanation) -> list[Match]:
    """Every place named as evidence anywhere in the tree, in order; faint firings of a latent term are left out."""
    return sorted(_places(explanation))


def _places(root: Explanation) -> Iterator[Match]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.parts)
        strongest = max((float(e.get("strength", 1.0)) for e in node.evidence), default=0.0)
        for evidence in node.evidence:
            if "strength" in evidence and (evidence["strength"] < WEAK * strongest or not _telling(evidence)):
                continue
            start, end = evidence.get("start"), evidence.get("end")
            if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
                yield Match(start, end, node.label, node.value)


def _telling(evidence: Mapping[str, Any]) -> bool:
    """Whether a word that fired a latent term shows a reader anything: no punctuation, no function words."""
    word = str(evidence.get("text", "")).lower()
    return any(map(str.isalnum, word)) and word not in stop_words(True, "english")


def strong(matches: Sequence[Match]) -> list[Match]:
    """Matches worth marking, without overlaps."""
    least = FAINT * max((match.value for match in matches), default=0.0)
    out: list[Match] = []
    for match in matches:
        if match.value >= least and (not out or match.start >= out[-1].end):
            out.append(match)
    return out


def best_window(text: str, matches: Sequence[Match], size: int) -> tuple[int, int]:
    """About `size` characters [start, end) of `text`: those whose different terms contributed most, earliest first.

    It starts a little before its first match, at a word boundary where there is one near. Linear in the matches.
    """
    if len(text) <= size:
        return 0, len(text)
    start = max(0, min(_best_start(matches, size * 5 // 8) - size // 4, len(text) - size))
    if start > 0:
        space = _SPACE.search(text, start, start + size // 8)
        start = space.end() if space else start
    end = min(len(text), start + size)
    if end < len(text):
        *_, space = [None, *_SPACE.finditer(text, end - size // 8, end)]
        end = space.start() if space else end
    return start, end


def _best_start(matches: Sequence[Match], reach: int) -> int:
    """Start of the first match of the best run of matches no longer than `reach` characters."""
    inside: Counter[str] = Counter()
    value, last = 0.0, 0
    best, best_start = 0.0, 0
    for first in matches:
        while last < len(matches) and matches[last].end <= first.start + reach:
            value += matches[last].value * (inside[matches[last].term] == 0)
            inside[matches[last].term] += 1
            last += 1
        if value > best * (1 + 1e-9):
            best, best_start = value, first.start
        if inside[first.term]:
            inside[first.term] -= 1
            value -= first.value * (inside[first.term] == 0)
        else:  # longer than the reach by itself, so it was never inside
            last += 1
    return best_start


def snippet(text: str, matches: Iterable[Match] = (), size: int = 200) -> str:
    """One line: the best window of `text`, matches marked by colour on a terminal and by ** elsewhere."""
    marked = strong(sorted(matches))
    start, end = best_window(text, marked, size)
    before, after = (f"\x1b[{MATCH}m", "\x1b[0m") if wants_colour(sys.stdout) else ("**", "**")
    pieces: list[str] = ["..."] if start > 0 else []
    at = start
    for match in marked:
        if match.start >= start and match.end <= end:
            pieces += [one_line(text[at : match.start]), before, one_line(text[match.start : match.end]), after]
            at = match.end
    pieces.append(one_line(text[at:end]))
    if end < len(text):
        pieces.append("...")
    return "".join(pieces).strip()


def one_line(text: str) -> str:
    """White space runs as one space each, kept at the ends, and nothing that could steer a terminal."""
    if not text:
        return text
    joined = " ".join(text.split())
    return printable((" " if text[0].isspace() else "") + joined + (" " if joined and text[-1].isspace() else ""))
