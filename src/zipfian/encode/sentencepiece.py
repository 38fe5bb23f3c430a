"""Text to the pieces of a SentencePiece unigram model, by its own file, with their places in the text.

The file is read here and handed to `tokenizers`, which finds the most probable pieces: one dependency for all
tokenizers instead of two.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zipfian.encode import _protobuf as pb
from zipfian.encode.tokens import Pieces, PieceTokenizer
from zipfian.errors import InvalidInput, MissingExtra, ZipfianError
from zipfian.types import IntArray

_PIECES, _NORMALIZER = 1, 3
_TEXT, _SCORE, _KIND = 1, 2, 3
_CHARSMAP = 2
_UNKNOWN, _CONTROL = 2, 3
"""Field numbers and kinds of pieces, as in `sentencepiece_model.proto`."""

START, END = "<s>", "</s>"


@dataclass(frozen=True, slots=True)
class UnigramModel:
    """What a model file says."""

    pieces: tuple[tuple[str, float], ...]
    """Text and logarithm of the probability of each."""
    unknown: int
    """The piece that stands for characters no piece has."""
    controls: dict[str, int]
    """Pieces that stand for no text, by name: start and end of a sequence."""
    charsmap: bytes
    """The normaliser's table, precompiled."""


class SentencePieceTokenizer(PieceTokenizer):
    """A unigram model; safe to share between threads."""

    def __init__(self, path: Path, extra: str = "text") -> None:
        try:
            from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
        except ImportError as error:
            raise MissingExtra("encoding text", extra) from error
        model = read_model(path.read_bytes())
        self._tokenizer = Tokenizer(models.Unigram(list(model.pieces), model.unknown, byte_fallback=False))
        spaces = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
        self._tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(model.charsmap), *spaces])
        self._tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        self.start, self.end = model.controls[START], model.controls[END]
        self.special = np.array(sorted({model.unknown, *model.controls.values()}), dtype=np.int32)
        self.specials = frozenset(self.special.tolist())

    def tokenize(self, texts: Sequence[str], most: int | None = None) -> list[Pieces | ZipfianError]:
        """As for any tokenizer; the space that a piece begins with is no part of its place."""
        found = super().tokenize(texts, most)
        return [
            Pieces(pieces.ids, _without_spaces(text, pieces.spans)) if isinstance(pieces, Pieces) else pieces
            for text, pieces in zip(texts, found, strict=True)
        ]


def read_model(data: bytes) -> UnigramModel:
    """The unigram model in a SentencePiece file."""
    pieces: list[tuple[str, float]] = []
    unknown: int | None = None
    controls: dict[str, int] = {}
    charsmap = b""
    for field, value in pb.fields(memoryview(data)):
        if field == _PIECES and isinstance(value, memoryview):
            text, score, kind = _piece(value)
            if kind == _UNKNOWN:
                unknown = len(pieces)
            elif kind == _CONTROL:
                controls[text] = len(pieces)
            # a document that spells one of these out must not get it, and no normalised text has a space in it
            pieces.append((f" {text}" if kind in (_UNKNOWN, _CONTROL) else text, score))
        elif field == _NORMALIZER and isinstance(value, memoryview):
            charsmap = b"".join(bytes(v) for f, v in pb.fields(value) if f == _CHARSMAP and isinstance(v, memoryview))
    if unknown is None or not {START, END} <= controls.keys():
        raise InvalidInput(f"a SentencePiece model with {START}, {END} and a piece for unknown text was expected")
    return UnigramModel(tuple(pieces), unknown, controls, charsmap)


def _piece(message: memoryview) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, 1
    for field, value in pb.fields(message):
        if field == _TEXT and isinstance(value, memoryview):
            text = str(value, "utf-8")
        elif field == _SCORE and isinstance(value, memoryview):
            (score,) = struct.unpack("<f", value)
        elif field == _KIND and isinstance(value, int):
            kind = value
    return text, score, kind


def _without_spaces(text: str, spans: IntArray) -> IntArray:
    """Places that begin with what people see; a piece that is only a space keeps its place."""
    starts = [
        start + len(piece) - len(piece.lstrip()) if not piece.isspace() else start
        for start, end in spans.tolist()
        for piece in (text[start:end],)
    ]
    out = spans.copy()
    out[:, 0] = starts
    return out
