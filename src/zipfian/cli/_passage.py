"""The passage of a text that shows best why it was found, as one line for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from zipfian.cli._output import MATCH, printable, wants_colour
from zipfian.explain.highlight import highlight
from zipfian.types import Token

FAINT = 0.1
"""A term that brings less than this share of what the best one brings is not marked."""
NARROWEST = 20
"""Characters that are shown in the narrowest terminal."""


def passage(text: str, spans: Sequence[Token] = (), worth: Mapping[str, float] | None = None, size: int = 200) -> str:
    """The best `size` characters of a text, matches marked by colour on a terminal and by ** elsewhere."""
    inside = [span for span in spans if span.end <= len(text)]
    (best,) = highlight(text, inside, weights=worth, max_chars=max(NARROWEST, size), max_snippets=1, faint=FAINT)
    before, after = (f"\x1b[{MATCH}m", "\x1b[0m") if wants_colour(sys.stdout) else ("**", "**")
    return best.render(before, after, ellipsis="...", clean=one_line).strip()


def one_line(text: str) -> str:
    """White space runs as one space each, kept at the ends, and nothing that could steer a terminal."""
    if not text:
        return text
    joined = " ".join(text.split())
    return printable((" " if text[0].isspace() else "") + joined + (" " if joined and text[-1].isspace() else ""))
