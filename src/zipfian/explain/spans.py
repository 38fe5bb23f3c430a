"""The places in a text that an explanation names, ready for `highlight`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zipfian.types import Explanation, Token
from zipfian.vocabulary.stopwords import stop_words

WEAK = 0.6
"""Of the words that fired a latent term, those with less than this share of the strongest are left out."""


def spans_of(explanation: Explanation) -> tuple[list[Token], dict[str, float]]:
    """Every place in the text named anywhere in the tree, in order, and what each term contributed to the score.

    Faint firings of a latent term are left out, and function words: they show a reader nothing. What stands in several
    parts of the tree is worth their sum.
    """
    found: list[Token] = []
    worth: dict[str, float] = {}
    for node in _nodes(explanation):
        places = list(_places(node))
        found += places
        if places:
            worth[node.label] = worth.get(node.label, 0.0) + node.value
    return sorted(found, key=lambda token: (token.start, token.end, token.term)), worth


def _nodes(root: Explanation) -> Iterator[Explanation]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.parts)
        yield node


def _places(node: Explanation) -> Iterator[Token]:
    strongest = max((float(e.get("strength", 1.0)) for e in node.evidence), default=0.0)
    for evidence in node.evidence:
        if "strength" in evidence and (evidence["strength"] < WEAK * strongest or not _telling(evidence)):
            continue
        start, end = evidence.get("start"), evidence.get("end")
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            yield Token(node.label, start, end)


def _telling(evidence: Mapping[str, Any]) -> bool:
    """Whether a word that fired a latent term shows a reader anything: no punctuation, no function words."""
    word = str(evidence.get("text", "")).lower()
    return any(map(str.isalnum, word)) and word not in stop_words(True, "english")
