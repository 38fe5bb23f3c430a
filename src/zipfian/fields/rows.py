"""The rows of a field of words: a document each, or the passages of a long text.

Counted over a whole book, words that stand on one page together and words that stand in different chapters are the
same, and the length of the book holds both back. So a long text has a row for each of its passages, as it has where an
encoder reads it. A text of a page or two stays one row: what it is about shows best in all of its words.

Sizes were chosen on articles of DRCD and PIAF, asked by query and by title, and on sentences
hidden in documents of 1,000 and 5,000 words; queries and titles with an even sha1. Passages of 900 and 3,000 characters
were level with these within .02.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from zipfian.encode.passages import Reading, Span, cut
from zipfian.fields.item import Item
from zipfian.types import Passages

PASSAGE = 1_500
"""Characters of a passage at the most: about 250 words of English."""

SMALLEST = 32
"""No passage is asked to have fewer characters."""

LONG = 4
"""A text is cut if it has more than so many passages."""

IDEOGRAPH = 4
"""A character of Chinese, Japanese or Korean counts for so many: about as much is said in it."""

_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def word_passages(text: str, size: int) -> list[Span]:
    """The passages of `size` characters in which a text is counted: one, unless it is long. 0: it is never cut."""
    if not size or len(text) * IDEOGRAPH <= LONG * size or _size(text) <= LONG * size:
        return [(0, len(text))]
    return cut(text, lambda texts: [_size(each) / size for each in texts])


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text) + (IDEOGRAPH - 1) * sum(1 for _ in _IDEOGRAPHS.finditer(text))


class Rows:
    """What the rows of some documents are counted from, one after the other, and then where they stand."""

    def __init__(self, name: str, size: int) -> None:
        """Of a field `name` whose passages have `size` characters."""
        self._name = name
        self._size = size
        self._counts: list[int] = []
        self._spans: list[Span] = []

    def read(self, items: Iterable[Item]) -> Iterator[tuple[str | Mapping[str, int], str | None]]:
        """The text of each row, or its words where they are counted already, and its language."""
        for item in items:
            text = item.text or ""
            spans = word_passages(text, self._size)
            self._counts.append(len(spans))
            if len(spans) == 1:
                self._spans.append((0, 0))
                yield item.counts.get(self._name, text), item.language
                continue
            self._spans += spans
            for span in spans:
                yield Reading.of(text, span).text, item.language

    @property
    def passages(self) -> Passages | None:
        """Where the rows read so far stand in their documents; None where each is one."""
        return Passages.of(self._counts, self._spans)
