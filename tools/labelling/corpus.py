"""The training text as whole words, and which word each word piece belongs to.

A vocabulary's statistics name firings by token number over the whole training text. Labels need words as they are
written, so pieces are joined along the tokenizer's own word boundaries. Everything is kept as integer arrays: a
surface form has a number, and so has its normal form and its stem.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import Stemmer
from texts import Array, open_tokenizer, read_lines

BATCH = 2_048
VERSION = 2
YEAR, NUMBER = "(year)", "(number)"
_YEAR = re.compile(r"1[0-9]{3}s?|20[0-9]{2}s?")
_NUMBER = re.compile(r"[0-9]+")


class Corpus(NamedTuple):
    """The text by words. Word i has surface form `surfaces[surface[i]]`."""

    surface: Array
    """(words,) int32: which surface form."""
    token_word: Array
    """(tokens,) int32: the word of every piece."""
    piece: Array
    """(tokens,) uint16: number of the piece in the tokenizer's list."""
    paragraph: Array
    """(paragraphs + 1,) int64: first word of every paragraph, and the number of words."""
    token_paragraph: Array
    """(paragraphs + 1,) int64: first token of every paragraph, and the number of tokens."""
    surfaces: list[str]
    """Surface forms, commonest first."""
    counts: Array
    """(surfaces,) int64."""
    normal: Array
    """(surfaces,) int32: lower case, years and numbers by class."""
    normals: list[str]
    stem: Array
    """(normals,) int32: English Snowball stem of a normal form."""
    stems: list[str]


def normalise(surface: str) -> str:
    """Lower case; a year or another number stands for its class."""
    if _YEAR.fullmatch(surface):
        return YEAR
    if _NUMBER.fullmatch(surface):
        return NUMBER
    return surface.lower()


def _tokenised(tokenizer_file: Path, texts: list[str], max_tokens: int) -> Iterator[tuple[str, Any]]:
    tokenizer = open_tokenizer(tokenizer_file, max_tokens)
    for part in _parts(texts):
        yield from zip(part, tokenizer.encode_batch(part, add_special_tokens=False), strict=True)


def _parts(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), BATCH):
        yield texts[start : start + BATCH]


def _read(text_file: Path, tokenizer_file: Path, max_tokens: int) -> dict[str, Any]:
    """Surface numbers in order of first occurrence, word of every token, and bounds of the paragraphs."""
    known: dict[str, int] = {}
    words, token_words, pieces, word_counts, token_counts = [], [], [], [0], [0]
    n_words = 0
    for text, found in _tokenised(tokenizer_file, read_lines(text_file), max_tokens):
        numbers = np.array(found.word_ids, dtype=np.int64)
        if len(numbers):
            offsets = np.array(found.offsets, dtype=np.int64)
            first = np.flatnonzero(np.diff(numbers, prepend=-1))
            last = np.append(first[1:], len(numbers)) - 1
            bounds = zip(offsets[first, 0].tolist(), offsets[last, 1].tolist(), strict=True)
            row = [known.setdefault(text[a:b], len(known)) for a, b in bounds]
            words.append(np.array(row, dtype=np.int32))
            inside = np.cumsum(np.diff(numbers, prepend=-1) != 0) - 1
            token_words.append((inside + n_words).astype(np.int32))
            pieces.append(np.array(found.ids, dtype=np.uint16))
            n_words += len(row)
        word_counts.append(n_words)
        token_counts.append(token_counts[-1] + len(numbers))
    return {
        "surface": np.concatenate(words),
        "token_word": np.concatenate(token_words),
        "piece": np.concatenate(pieces),
        "paragraph": np.array(word_counts, dtype=np.int64),
        "token_paragraph": np.array(token_counts, dtype=np.int64),
        "surfaces": list(known),
    }


def load_corpus(text_file: Path, tokenizer_file: Path, work: Path, max_tokens: int = 512) -> Corpus:
    """Tokenise the text, or read what an earlier run kept in `work`."""
    key = hashlib.sha256(f"{VERSION} {text_file.stat().st_size} {max_tokens}".encode())
    key.update(tokenizer_file.read_bytes())
    work.mkdir(parents=True, exist_ok=True)
    arrays_file, words_file = (work / f"words-{key.hexdigest()[:12]}{suffix}" for suffix in (".npz", ".txt"))
    if arrays_file.exists() and words_file.exists():
        with np.load(arrays_file) as kept:
            raw: dict[str, Any] = {name: kept[name] for name in kept.files}
        raw["surfaces"] = words_file.read_text(encoding="utf-8").split("\n")
    else:
        raw = _read(text_file, tokenizer_file, max_tokens)
        words_file.write_text("\n".join(raw["surfaces"]), encoding="utf-8")
        np.savez(arrays_file, **{name: value for name, value in raw.items() if name != "surfaces"})
    counts = np.bincount(raw["surface"], minlength=len(raw["surfaces"]))
    normals, normal = _numbered([normalise(s) for s in raw["surfaces"]])
    stemmer = Stemmer.Stemmer("english")
    stems, stem = _numbered(stemmer.stemWords(normals))
    return Corpus(
        raw["surface"], raw["token_word"], raw["piece"], raw["paragraph"], raw["token_paragraph"],
        raw["surfaces"], counts, normal, normals, stem, stems,
    )  # fmt: skip


def _numbered(values: list[str]) -> tuple[list[str], Array]:
    known = {value: number for number, value in enumerate(Counter(values))}
    return list(known), np.array([known[value] for value in values], dtype=np.int32)
