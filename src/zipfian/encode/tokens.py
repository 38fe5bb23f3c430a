"""Text to word pieces with their character spans, by the model's own tokenizer file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra, ZipfianError
from zipfian.limits import MAX_TEXT_CHARS, MAX_TEXT_TOKENS
from zipfian.types import IntArray

_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters: no UTF-8 exists for them, so the tokenizer cannot take them."""

PREFIX_CHARS_PER_TOKEN = 16
"""Characters tokenised at first for each token wanted, when a text is to be cut."""


LONG_CHARS = 6 * MAX_TEXT_TOKENS
QUICK_CHARS = 10_000
"""A query up to this long is tokenised whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The word pieces of a text, without the special tokens around it."""

    ids: IntArray
    """(n,): rows of the embedding table."""
    spans: IntArray
    """(n, 2): characters [start, end) of the text."""

    def __len__(self) -> int:
        return len(self.ids)


class PieceTokenizer:
    """The tokenizer of a BERT model; safe to share between threads."""

    def __init__(self, path: Path, extra: str = "text") -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("encoding text", extra) from error
        self._tokenizer: Any = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.start: int = self._id("[CLS]")
        self.end: int = self._id("[SEP]")
        added = self._tokenizer.get_added_tokens_decoder()
        self.special = np.array(sorted(i for i, token in added.items() if token.special), dtype=np.int32)
        """Ids that stand for no text of their own: start, end, padding, mask, unknown."""
        self.specials = frozenset(self.special.tolist())

    def tokenize(self, texts: Sequence[str], most: int | None = None) -> list[Pieces | ZipfianError]:
        """The pieces of each text, only the first `most` where that is given; in the place of a bad one its error."""
        checked = [checked_text(text, i) for i, text in enumerate(texts)]
        good = [text for text in checked if isinstance(text, str)]
        pieces = iter(self._all(good) if most is None else self._first(good, most))
        return [next(pieces) if isinstance(text, str) else text for text in checked]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many pieces each text has, 0 for a bad one: without their places, which take most of the time."""
        if not all(isinstance(text, str) and len(text) <= QUICK_CHARS for text in texts):
            return [len(pieces) if isinstance(pieces, Pieces) else 0 for pieces in self.tokenize(texts)]
        whole = [_HALVES.sub("\ufffd", text) for text in texts]
        return list(map(len, self._tokenizer.encode_batch_fast(whole, add_special_tokens=False)))

    def ids(self, text: str, most: int | None = None) -> list[int]:
        """The pieces of one text without their places: the quick way, for queries."""
        checked = checked_text(text, 0)
        if not isinstance(checked, str):
            raise checked
        if len(checked) > QUICK_CHARS:
            (found,) = self.tokenize([checked], most)
            if isinstance(found, ZipfianError):
                raise found
            return list(found.ids.tolist())
        (encoding,) = self._tokenizer.encode_batch_fast([checked], add_special_tokens=False)  # does not count places
        return list(encoding.ids[:most])

    def _all(self, texts: list[str]) -> list[Pieces | ZipfianError]:
        """A text far too long is noticed at its beginning, before all of it is in memory as tokens."""
        results: list[Pieces | ZipfianError] = []
        short = iter(self._batch([text for text in texts if len(text) <= LONG_CHARS]))
        for text in texts:
            if len(text) <= LONG_CHARS:
                results.append(_pieces(next(short)))
                continue
            (beginning,) = self._batch([text[:LONG_CHARS]])
            results.append(_pieces(beginning if len(beginning) > MAX_TEXT_TOKENS else self._batch([text])[0]))
        return results

    def _first(self, texts: list[str], most: int) -> list[Pieces | ZipfianError]:
        """From as much of each text as it takes to be sure of its first pieces.

        The last word of a part may be cut in two, so another word than the wanted ones must come after them.
        """
        results: list[Pieces | ZipfianError] = []
        limit = most * PREFIX_CHARS_PER_TOKEN
        for text, encoding in zip(texts, self._batch([text[:limit] for text in texts]), strict=True):
            chars = limit
            while chars < len(text) and not _settled(encoding, most):
                chars *= 4
                (encoding,) = self._batch([text[:chars]])
            results.append(_pieces(encoding, most))
        return results

    def _batch(self, texts: list[str]) -> list[Any]:
        result: list[Any] = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return result

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise InvalidInput(f"the tokenizer has no {token}: it is not that of a BERT model")
        return int(found)


def checked_text(text: object, index: int) -> str | ZipfianError:
    if not isinstance(text, str):
        return InvalidInput(f"item {index} is {type(text).__name__}, not a text (str)")
    if len(text) > MAX_TEXT_CHARS:
        return LimitExceeded(f"item {index} has {len(text):,} characters; at most {MAX_TEXT_CHARS:,} are allowed")
    return _HALVES.sub("\ufffd", text)


def _pieces(encoding: Any, most: int | None = None) -> Pieces | ZipfianError:
    if most is None and len(encoding) > MAX_TEXT_TOKENS:
        return LimitExceeded(
            f"a text has more than {MAX_TEXT_TOKENS:,} tokens, which is the most that one document may have. "
            "Split it into several, or encode only its beginning with long_texts='cut'"
        )
    ids, offsets = encoding.ids[:most], encoding.offsets[:most]
    # Number by number: making an array of a list of pairs takes three times as long.
    spans = np.fromiter(itertools.chain.from_iterable(offsets), np.int32, 2 * len(offsets))
    return Pieces(np.array(ids, dtype=np.int32), spans.reshape(-1, 2))


def _settled(encoding: Any, most: int) -> bool:
    words = encoding.word_ids
    return len(words) > most and words[most - 1] != words[-1]
