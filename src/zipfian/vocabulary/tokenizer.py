"""Cut a text into the pieces that become terms, with their offsets in the original.

The rules, and why:

- Words are letters, digits and marks: `BM25` is one word.
- Compounds (`foo_bar`, `node.js`, `AT&T`, `e-mail`) give their parts and the parts run together (`foobar`): a search
  for a part finds them, and so does the other usual spelling (`fooBar`, `NodeJS`, `email`). An e-mail address is kept
  as written instead of run together.
- Single letters with dots (`U.S.A.`) are an acronym: `usa`, without parts.
- `3.14` and `1.2.3` stay whole, `10,000` is `10000`, `1,2` are two numbers.
- `C++`, `C#`, `.NET` keep their signs. Words of more than two letters are also found without (`Notepad++`).
- Han, kana, Thai, Lao, Khmer and Burmese have no spaces: overlapping pairs of characters, and each Han character by
  itself, because many are words. Hangul has spaces and is treated as words.
- Emoji and other symbols are no terms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from zipfian import limits
from zipfian.vocabulary._characters import APOSTROPHES, HYPHENS, unicode_classes

Piece = tuple[str, int, int]
"""Spelling to normalise, and the characters [start, end) it came from."""

_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_LONGEST_BASE_WITHOUT_PART = 2
_UNDERSCORE = r"\U0000005f-\U0000005f"
"""As `_characters` spells it in a class."""


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_DOT_NET = re.compile(r"\.[nN][eE][tT]")


class _Patterns(NamedTuple):
    chunk: re.Pattern[str]
    """A compound, or a run of a script without spaces: what is analysed on its own."""
    chunk_or_dot_net: re.Pattern[str]
    """The same with the dot of `.NET`; only for texts that need it, because it is slower."""
    piece: re.Pattern[str]
    cluster: re.Pattern[str]
    han: re.Pattern[str]


def _compile(start: str, inside: str, apostrophes: str, *, unspaced: str, marks: str, han: str) -> _Patterns:
    """All patterns are linear: what joins words is never part of a word."""
    word = f"[{start}][{inside}]*" if start != inside else f"[{start}]+"
    joint = rf"(?:[.@&{apostrophes}{re.escape(HYPHENS)}]|(?<=[0-9]),(?=[0-9]))"
    compound = rf"{word}(?:{joint}{word})*(?:\+\+|\#(?![{start}]))?"
    dot = rf"(?:(?<![\w.])\.(?=[nN][eE][tT](?![{inside}])))?"
    cluster = f"[{unspaced}][{marks}]*"
    plain = word.replace(_UNDERSCORE, "")
    inner = rf"(?:[{apostrophes}](?:(?<![0-9].)|(?![0-9]))|[.,](?<=[0-9].)(?=[0-9]))"
    return _Patterns(
        chunk=re.compile(f"{compound}|(?:{cluster})+"),
        chunk_or_dot_net=re.compile(f"{dot}{compound}|(?:{cluster})+"),
        piece=re.compile(f"{plain}(?:{inner}{plain})*"),
        cluster=re.compile(cluster),
        han=re.compile(f"[{han}]"),
    )


@functools.cache
def _ascii_patterns() -> _Patterns:
    word = "0-9A-Za-z" + _UNDERSCORE
    never = r"\U0010ffff"
    return _compile(word, word, "'", unspaced=never, marks=never, han=never)


@functools.cache
def _unicode_patterns(*, astral: bool) -> _Patterns:
    c = unicode_classes(astral=astral)
    return _compile(c.start, c.inside, APOSTROPHES, unspaced=c.unspaced, marks=c.marks, han=c.han)


def _patterns(text: str) -> _Patterns:
    """All three sets agree on every text; the smaller ones are faster."""
    if text.isascii():
        return _ascii_patterns()
    return _unicode_patterns(astral=_ASTRAL.search(text) is not None)


def chunk_pattern(text: str) -> re.Pattern[str]:
    """The pattern that finds the chunks of this text. What `pieces` makes of a chunk depends on the chunk alone."""
    patterns = _patterns(text)
    return patterns.chunk_or_dot_net if _DOT_NET.search(text) else patterns.chunk


def pieces(chunk: str, *, join: bool = True) -> Iterator[Piece]:
    """The pieces of one chunk from left to right; a compound's parts come before the compound.

    `join=False` leaves out the compounds and gives their parts only (acronyms are closed up all the same).
    """
    if chunk.isascii() and chunk.isalnum():
        yield chunk, 0, len(chunk)
        return
    patterns = _patterns(chunk)
    if patterns.cluster.match(chunk):
        yield from _pairs(chunk, patterns)
        return
    if chunk.startswith("."):
        yield ".net", 0, 4
    yield from _compound(chunk, patterns.piece, join)


def _pairs(run: str, patterns: _Patterns) -> Iterator[Piece]:
    clusters = [(m.start(), m.end()) for m in patterns.cluster.finditer(run)]
    for i, (start, end) in enumerate(clusters):
        if len(clusters) == 1 or patterns.han.match(run, start):
            yield run[start:end], start, end
        if i + 1 < len(clusters):
            after = clusters[i + 1][1]
            yield run[start:after], start, after


def _compound(chunk: str, pattern: re.Pattern[str], join: bool) -> list[Piece]:
    body = chunk.rstrip("+#")
    sign = chunk[len(body) :]
    groups: list[list[Piece]] = []
    end = 0
    for match in pattern.finditer(body):
        if not groups or any(c in HYPHENS for c in body[end : match.start()]):
            groups.append([])
        groups[-1].extend(_numbers(match.group(), match.start()))
        end = match.end()
    if not groups:
        return []
    parts = [part for group in groups for part in _group(group, body, join)]
    last = groups[-1][-1]
    if sign and last[2] == len(body) and (sign == "++" or len(last[0]) == 1):
        if len(last[0]) <= _LONGEST_BASE_WITHOUT_PART and last in parts:
            parts.remove(last)
        parts.append((last[0] + sign, last[1], last[2] + len(sign)))
    if join and 1 < len(groups) <= limits.MAX_JOINED_PARTS:
        parts.extend(_joined([piece for group in groups for piece in group]))
    return parts


def _numbers(piece: str, start: int) -> Iterator[Piece]:
    """`10,000` is a number; any other comma between digits separates two."""
    if "," not in piece:
        yield piece, start, start + len(piece)
    elif _THOUSANDS.fullmatch(piece):
        yield piece.replace(",", ""), start, start + len(piece)
    else:
        for part in piece.split(","):
            yield part, start, start + len(part)
            start += len(part) + 1


def _group(group: list[Piece], body: str, join: bool) -> list[Piece]:
    """The pieces between two hyphens."""
    if not 1 < len(group) <= limits.MAX_JOINED_PARTS:
        return group
    start, end = group[0][1], group[-1][2]
    written = body[start:end]
    if all(len(piece[0]) == 1 and piece[0].isalpha() for piece in group) and written[1::2].strip(".") == "":
        return [(written[::2], start, end)]
    if not join:
        return group
    return [*group, (written, start, end)] if "@" in written else [*group, *_joined(group)]


def _joined(group: list[Piece]) -> list[Piece]:
    """The pieces run together; numbers are not, because `1990-2000` is not one."""
    if all(piece[0][0].isdigit() and piece[0][-1].isdigit() for piece in group):
        return []
    return [("".join(piece[0] for piece in group), group[0][1], group[-1][2])]
