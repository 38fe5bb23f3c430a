"""Where a text may be cut without tearing a character apart.

Not all of Unicode's segmentation rules, but those that show: accents stay on their letters, emoji sequences, skin
tones and flags stay whole, Hangul syllables and line ends are not split. Every look-around is bounded.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_FURTHEST = 64


def _extends(char: str) -> bool:
    """Whether the character belongs to the one before it."""
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char)[0] == "M"
        or char in "\u200c\u200d\uff9e\uff9f"
        or "\u1160" <= char <= "\u11ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def can_cut(text: str, at: int) -> bool:
    """Whether the text may end before position `at` and go on there."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if _extends(after) or before == _JOINER or (before == "\r" and after == "\n"):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        letters = 1
        while letters < _FURTHEST and at - letters > 0 and _is_flag_letter(text[at - letters - 1]):
            letters += 1
        return letters % 2 == 0
    return True


def cut_after(text: str, at: int, limit: int) -> int:
    """The first place at or after `at`, and not after `limit`, where the text can be cut."""
    last = min(limit, at + _FURTHEST)
    while at < last and not can_cut(text, at):
        at += 1
    return at


def cut_before(text: str, at: int, limit: int) -> int:
    """The last place at or before `at`, and not before `limit`, where the text can be cut."""
    last = max(limit, at - _FURTHEST)
    while at > last and not can_cut(text, at):
        at -= 1
    return at
