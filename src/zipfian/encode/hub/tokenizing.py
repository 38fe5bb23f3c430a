"""Texts to word pieces with their character spans, for any tokenizer, and pieces to the rows a network reads.

Task prefixes are tokenised together with the text, because some tokenizers look across the border, and then taken off:
they go through the network with every window and yield no terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode.tokens import Pieces, PieceTokenizer
from zipfian.errors import InvalidInput, LimitExceeded, ZipfianError
from zipfian.limits import MAX_TEXT_TOKENS
from zipfian.types import IntArray

Rows = npt.NDArray[np.int64]

LOOK_AHEAD = 80
"""Characters in which a word is looked for after one that cleaning replaced."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the pieces of a window: special tokens, task prefix, padding."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    pad: int
    width: int | None = None
    """A network that was trained on rows of one width always gets it, without a mask."""
    pad_left: bool = False

    @property
    def size(self) -> int:
        """Tokens that are not the text's."""
        return len(self.before) + len(self.after)

    def rows(self, pieces: Sequence[IntArray]) -> tuple[Rows, Rows]:
        """(n, width) ids, and where in each row its sequence starts."""
        width = self.width or max(len(p) for p in pieces) + self.size
        rows = np.full((len(pieces), width), self.pad, dtype=np.int64)
        starts = np.zeros(len(pieces), dtype=np.int64)
        for i, content in enumerate(pieces):
            whole = np.concatenate((self.before, content, self.after)).astype(np.int64)
            starts[i] = width - len(whole) if self.pad_left else 0
            rows[i, starts[i] : starts[i] + len(whole)] = whole
        return rows, starts


class FastTokenizer(PieceTokenizer):
    """A tokenizer with a `tokenizers` backend, which keeps spans."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer.backend_tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        framed = self._tokenizer.encode("a", add_special_tokens=True)
        marks = framed.special_tokens_mask
        text = [i for i, mark in enumerate(marks) if not mark]
        first, last = (text[0], text[-1]) if text else (len(marks), len(marks))
        self.before = tuple(framed.ids[:first])
        self.after = tuple(framed.ids[last + 1 :])


class OtherTokenizer(PieceTokenizer):
    """A tokenizer that says which pieces a text has but not where they are: spans are found again.

    `surfaces` gives ids and, for each, the characters it stands for.
    """

    def __init__(
        self, surfaces: Callable[[str], tuple[list[int], list[str]]], before: tuple[int, ...], after: tuple[int, ...]
    ) -> None:
        self._surfaces = surfaces
        self.before = before
        self.after = after

    def tokenize(self, texts: Sequence[str], most: int | None = None) -> list[Pieces | ZipfianError]:
        """The pieces of each text, only the first `most` where that is given; in the place of a bad one its error."""
        from zipfian.encode.tokens import checked_text

        results: list[Pieces | ZipfianError] = []
        for index, text in enumerate(texts):
            checked = checked_text(text, index)
            if isinstance(checked, ZipfianError):
                results.append(checked)
                continue
            ids, surfaces = self._surfaces(checked)
            if most is None and len(ids) > MAX_TEXT_TOKENS:
                results.append(LimitExceeded(f"item {index} has more than {MAX_TEXT_TOKENS:,} tokens: split it"))
                continue
            spans = align(checked, surfaces[:most])
            results.append(Pieces(np.array(ids[:most], dtype=np.int32), spans))
        return results


def align(text: str, surfaces: Sequence[str]) -> IntArray:
    """Where pieces stand in a text that was cleaned before it was cut: without case, punctuation or spaces, say.

    The text is read from left to right. Where cleaning replaced characters, the next word that is still there is
    looked for; a piece that cannot be found gets an empty span where the last one ended.
    """
    low = [c.lower() if len(c.lower()) == 1 else c for c in text]
    spans = np.zeros((len(surfaces), 2), dtype=np.int32)
    here = 0
    for i, surface in enumerate(surfaces):
        piece = surface.lower()
        found = _match(low, piece, here) or _later(low, piece, here)
        if found is None:
            spans[i] = here
            continue
        spans[i] = found
        here = found[1]
    return spans


def _match(low: Sequence[str], piece: str, start: int) -> tuple[int, int] | None:
    first, here = -1, start
    for char in piece:
        while here < len(low) and low[here] != char and not low[here].isalnum():
            here += 1
        if here >= len(low) or low[here] != char:
            return None
        first = here if first < 0 else first
        here += 1
    return None if first < 0 else (first, here)


def _later(low: Sequence[str], piece: str, start: int) -> tuple[int, int] | None:
    """The piece as the beginning of a word a little further on."""
    part = "".join(low[start : start + LOOK_AHEAD])
    at = part.find(piece) if piece else -1
    while at > 0 and part[at - 1].isalnum():
        at = part.find(piece, at + 1)
    return None if at < 0 else (start + at, start + at + len(piece))


def tokenizer_of(tokenizer: Any) -> FastTokenizer | OtherTokenizer:
    """Wrap what transformers loaded."""
    if getattr(tokenizer, "is_fast", False):
        return FastTokenizer(tokenizer)
    marker = tokenizer.convert_tokens_to_ids(tokenizer.unk_token)
    framed = list(tokenizer.build_inputs_with_special_tokens([marker]))
    place = framed.index(marker)

    def surfaces(text: str) -> tuple[list[int], list[str]]:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids, [piece.replace("\u2581", "") for piece in tokenizer.convert_ids_to_tokens(ids)]

    return OtherTokenizer(surfaces, tuple(framed[:place]), tuple(framed[place + 1 :]))


class Prefixed:
    """A tokenizer with a task prefix before every text."""

    def __init__(self, tokenizer: FastTokenizer | OtherTokenizer, prefix: str) -> None:
        self._tokenizer = tokenizer
        self.prefix = prefix
        self.ids: tuple[int, ...] = ()
        if prefix:
            (sample,) = tokenizer.tokenize([prefix + "a"])
            if isinstance(sample, ZipfianError):
                raise InvalidInput(f"the prefix {prefix!r} cannot be tokenised: {sample}")
            self.ids = tuple(sample.ids[_in_prefix(sample.spans, prefix)].tolist())

    def tokenize(self, texts: Sequence[str], most: int | None = None) -> list[Pieces | ZipfianError]:
        """The pieces of the texts alone, with places in the texts alone."""
        whole = [self.prefix + text if isinstance(text, str) else text for text in texts]
        found = self._tokenizer.tokenize(whole, None if most is None else most + len(self.ids))
        return [
            pieces if isinstance(pieces, ZipfianError) else _own(pieces, text, self.prefix)
            for pieces, text in zip(found, texts, strict=True)
        ]


def _in_prefix(spans: IntArray, prefix: str) -> npt.NDArray[np.bool_]:
    """A piece that ends in the prefix belongs to it; a space at its end may belong to the first word of the text."""
    ends: npt.NDArray[np.bool_] = spans[:, 1] <= len(prefix)
    return ends


def _own(pieces: Pieces, text: str, prefix: str) -> Pieces:
    """Without the prefix, and with spans that leave out the space around a word."""
    ids, spans = pieces.ids, pieces.spans
    if prefix:
        kept = ~_in_prefix(spans, prefix)
        ids, spans = ids[kept], np.maximum(spans[kept] - len(prefix), 0).astype(np.int32)
    for i, (start, end) in enumerate(spans.tolist()):
        part = text[start:end]
        if part and (part[0].isspace() or part[-1].isspace()) and not part.isspace():
            spans[i] = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
    return Pieces(ids, spans)
