"""The places in a text that an explanation names, ready for `highlight`."""

from __future__ import annotations

from collections.abc import Iterator

from zipfian.types import Explanation, Token, marked


def spans_of(explanation: Explanation) -> tuple[list[Token], dict[str, float]]:
    """Every place in the text named anywhere in the tree, in order, and what each term contributed to the score.

    Faint firings of a latent term are left out, and what is not to be marked: punctuation and function words show a
    reader nothing. What stands in several parts of the tree is worth their sum.
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
    for place in marked(node.evidence):
        start, end = place.get("start"), place.get("end")
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            yield Token(node.label, start, end)
