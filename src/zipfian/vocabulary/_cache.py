"""A bounded memory for a pure function of a string."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from zipfian import limits

Value = TypeVar("Value")


class WordCache(dict[str, Value]):
    """`cache[word]` computes what it does not know; `map(cache.__getitem__, words)` runs at the speed of a dict.

    Two generations: when the young one is full it becomes the old one, and what is still used moves back, so frequent
    words stay while the memory stays bounded. Threads may share it: at worst a word is computed twice.
    """

    def __init__(self, function: Callable[[str], Value]) -> None:
        super().__init__()
        self._function = function
        self._old: dict[str, Value] = {}

    def __missing__(self, word: str) -> Value:
        value = self._old.get(word)
        if value is None:
            value = self._function(word)
            if len(word) > limits.MAX_CACHED_WORD_CHARS:
                return value
        if len(self) >= limits.MAX_CACHED_WORDS:
            self._old = dict(self)
            self.clear()
        self[word] = value
        return value
