"""Training texts and their word pieces, as training and labelling read them."""

from __future__ import annotations

import itertools
import lzma
from pathlib import Path
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def read_lines(path: Path, limit: int | None = None) -> list[str]:
    """Paragraphs of a plain or xz text file, one per line."""
    opener: Any = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        return [line.rstrip("\n") for line in itertools.islice(stream, limit)]


def open_tokenizer(file: Path, max_tokens: int = 512) -> Any:
    """A tokenizer that cuts texts so that they fit in `max_tokens` with both special tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.enable_truncation(max_tokens - 2)
    return tokenizer
