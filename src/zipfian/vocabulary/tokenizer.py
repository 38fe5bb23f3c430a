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
  itself, because many are words.
- Hangul has spaces, but a word carries its particles (학교 is school, 학교에서 at school). In Korean texts it is cut
  into pairs of syllables and single ones, like Han (`syllables`); in others it is treated as words.
- Emoji and other symbols are no terms.
"""

from __future__ import annotations

import functools
import itertools
import operator
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


LONG_CHUNK = 512
"""Characters of a chunk that is no word of any language; `cut` takes it apart instead of `pieces`."""

_BETWEEN_HYPHENS = re.compile(f"[^{re.escape(HYPHENS)}]+")
_HYPHEN = re.compile(f"[{re.escape(HYPHENS)}]")
_BETWEEN_COMMAS = re.compile("[^,]+")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_DOT_NET = re.compile(r"\.[nN][eE][tT]")


class _Patterns(NamedTuple):
    chunk: re.Pattern[str]
    """A compound, or a run of a script without spaces: what is analysed on its own."""
    chunk_or_dot_net: re.Pattern[str]
    """The same with the dot of `.NET`; only for texts that need it, because it is slower."""
    piece: re.Pattern[str]
    piece_of_chunk: re.Pattern[str]
    """A piece with the dot of `.NET` before it or the sign of `C++` after it, at the ends of a chunk."""
    cluster: re.Pattern[str]
    marked: re.Pattern[str]
    alone: re.Pattern[str]


def _compile(start: str, inside: str, apostrophes: str, *, unspaced: str, marks: str, alone: str) -> _Patterns:
    """All patterns are linear: what joins words is never part of a word.

    So what a group matched is never given back, and the repeats are possessive (`*+`): `re` would remember a hundred
    bytes for each part of a compound otherwise.
    """
    word = f"[{start}][{inside}]*" if start != inside else f"[{start}]+"
    joint = rf"(?:[.@&{apostrophes}{re.escape(HYPHENS)}]|(?<=[0-9]),(?=[0-9]))"
    compound = rf"{word}(?:{joint}{word})*+(?:\+\+|\#(?![{start}]))?"
    dot = rf"(?:(?<![\w.])\.(?=[nN][eE][tT](?![{inside}])))?"
    cluster = f"[{unspaced}][{marks}]*"
    plain = word.replace(_UNDERSCORE, "")
    inner = rf"(?:[{apostrophes}](?:(?<![0-9].)|(?![0-9]))|[.,](?<=[0-9].)(?=[0-9]))"
    piece = f"{plain}(?:{inner}{plain})*+"
    return _Patterns(
        chunk=re.compile(f"{compound}|(?:{cluster})++"),
        chunk_or_dot_net=re.compile(f"{dot}{compound}|(?:{cluster})++"),
        piece=re.compile(piece),
        piece_of_chunk=re.compile(rf"(?:\A\.)?{piece}(?:(?:\+\+|\#)\Z)?"),
        cluster=re.compile(cluster),
        marked=re.compile(f"[{marks}]"),
        alone=re.compile(f"[{alone}]"),
    )


@functools.cache
def _ascii_patterns() -> _Patterns:
    word = "0-9A-Za-z" + _UNDERSCORE
    never = r"\U0010ffff"
    return _compile(word, word, "'", unspaced=never, marks=never, alone=never)


@functools.cache
def _unicode_patterns(*, astral: bool, syllables: bool = False) -> _Patterns:
    c = unicode_classes(astral=astral, syllables=syllables)
    return _compile(c.start, c.inside, APOSTROPHES, unspaced=c.unspaced, marks=c.marks, alone=c.alone)


def _patterns(text: str, syllables: bool) -> _Patterns:
    """All sets agree on every text, but for Hangul; the smaller ones are faster."""
    if text.isascii():
        return _ascii_patterns()
    return _unicode_patterns(astral=_ASTRAL.search(text) is not None, syllables=syllables)


def chunk_pattern(text: str, *, syllables: bool = False) -> re.Pattern[str]:
    """The pattern that finds the chunks of this text. What `pieces` makes of a chunk depends on the chunk alone.

    `syllables` cuts Hangul into pairs; whoever says so here must say so to `pieces` and the others too.
    """
    patterns = _patterns(text, syllables)
    return patterns.chunk_or_dot_net if _DOT_NET.search(text) else patterns.chunk


def pieces(chunk: str, *, join: bool = True, syllables: bool = False) -> Iterator[Piece]:
    """The pieces of one chunk from left to right; a compound's parts come before the compound.

    `join=False` leaves out the compounds and gives their parts only (acronyms are closed up all the same).
    """
    if chunk.isascii() and chunk.isalnum():
        yield chunk, 0, len(chunk)
        return
    patterns = _patterns(chunk, syllables)
    is_compound = patterns.cluster.match(chunk) is None
    if len(chunk) > LONG_CHUNK and is_compound and (apart := cut(chunk, join=join)) is not None:
        for part in apart.parts:
            offset = part.start()
            yield from ((spelling, offset + start, offset + end) for spelling, start, end in pieces(part[0], join=join))
        if apart.joined is not None:
            yield apart.joined
        return
    if not is_compound:
        yield from _pairs(chunk, patterns)
        return
    if chunk.startswith("."):
        yield ".net", 0, 4
    yield from _compound(chunk, patterns.piece, join)


def _pairs(run: str, patterns: _Patterns) -> Iterator[Piece]:
    """One pair behind, so that nothing is kept."""
    before: re.Match[str] | None = None
    for cluster in patterns.cluster.finditer(run):
        if before is not None:
            yield run[before.start() : cluster.end()], before.start(), cluster.end()
        if patterns.alone.match(cluster[0]) or cluster.end() - cluster.start() == len(run):
            yield cluster[0], cluster.start(), cluster.end()
        before = cluster


class Cut(NamedTuple):
    """A long chunk taken apart: the pieces of its parts, and `joined`, are those of the whole, in their order."""

    parts: Iterator[re.Match[str]]
    """Shorter chunks. One may be long itself and has to be cut again, never into itself."""
    joined: Piece | None


def cut(chunk: str, *, join: bool = True) -> Cut | None:
    """Take a long compound apart, in memory that does not grow with it; None where it has few pieces anyway.

    `pieces` would hold millions of them at once. What it does with a compound of many parts is nothing but what it does
    with each of them: only up to MAX_JOINED_PARTS are run together.
    """
    patterns = _patterns(chunk, False)  # a compound has no Hangul that is to be cut
    groups = _count_groups(chunk, patterns.piece)
    if groups > 1:
        few = join and groups <= limits.MAX_JOINED_PARTS
        return Cut(_BETWEEN_HYPHENS.finditer(chunk), _joined_beginning(chunk, patterns.piece) if few else None)
    found = list(itertools.islice(patterns.piece.finditer(chunk), limits.MAX_JOINED_PARTS + 1))
    if len(found) == 1 and "," in found[0][0] and not _THOUSANDS.fullmatch(found[0][0]):
        return Cut(_BETWEEN_COMMAS.finditer(chunk), None) if _many_numbers(found) else None
    return Cut(patterns.piece_of_chunk.finditer(chunk), None) if _many_numbers(found) else None


def is_run(chunk: str, *, syllables: bool = False) -> bool:
    """Whether a chunk is written in a script without spaces."""
    return _patterns(chunk, syllables).cluster.match(chunk) is not None


def clusters(run: str, *, syllables: bool = False) -> Iterator[str]:
    """The characters of a run, each with its marks."""
    patterns = _patterns(run, syllables)
    if patterns.marked.search(run) is None:
        return iter(run)
    return map(operator.itemgetter(0), patterns.cluster.finditer(run))


def is_alone(cluster: str, *, syllables: bool = False) -> bool:
    """Whether a character of a run is a term by itself."""
    return _patterns(cluster, syllables).alone.match(cluster) is not None


def _count_groups(chunk: str, piece: re.Pattern[str]) -> int:
    """Parts between hyphens that hold a piece, counted as far as it matters."""
    groups, at = 0, 0
    while groups <= limits.MAX_JOINED_PARTS and (found := piece.search(chunk, at)):
        groups += 1
        hyphen = _HYPHEN.search(chunk, found.end())
        if hyphen is None:
            break
        at = hyphen.end()
    return groups


def _many_numbers(found: list[re.Match[str]]) -> bool:
    """Whether these pieces, taken apart at their commas, are too many to be run together."""
    parts = (1 if _THOUSANDS.fullmatch(m[0]) else m[0].count(",") + 1 for m in found)
    return sum(parts) > limits.MAX_JOINED_PARTS


def _joined_beginning(chunk: str, pattern: re.Pattern[str]) -> Piece | None:
    """What `_joined` makes of all pieces, as far as a term can be long."""
    spelling, numeric, start, end = "", True, -1, 0
    for match in pattern.finditer(chunk.rstrip("+#")):
        for piece, first, last in _numbers(match.group(), match.start()):
            start, end = (first if start < 0 else start), last
            numeric = numeric and piece[0].isdigit() and piece[-1].isdigit()
            if len(spelling) < limits.MAX_TERM_BYTES:
                spelling += piece[: limits.MAX_TERM_BYTES]
    return None if numeric else (spelling, start, end)


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
