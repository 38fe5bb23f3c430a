"""Readable names of the terms of a latent vocabulary, as they ship with it.

`labels.json.gz` in a model's folder holds one label and one kind per term and the rule that told the kinds apart. It
is a convenience for people: nothing that is indexed or scored depends on it, so a vocabulary without one is usable.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.errors import FormatTooNew, InvalidInput, LimitExceeded

LABELS_FILE = "labels.json.gz"
VERSION = 1
KINDS = ("lexical", "narrow", "broad")
"""One word whatever its context; a few words of one meaning; many words of one subject."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Labels:
    """Label and kind of every term, by term number."""

    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    rule: Mapping[str, Any] = field(default_factory=dict)
    """How kinds were told apart: thresholds, date, agreement with a reader."""
    pieces: tuple[tuple[tuple[str, float], ...], ...] | None = None
    """Word pieces that each term fires on most, with their shares of its activation."""

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.kinds):
            raise InvalidInput(f"{len(self.labels):,} labels and {len(self.kinds):,} kinds: one of each per term")
        for term, label in enumerate(self.labels):
            if not isinstance(label, str) or not 0 < len(label) <= limits.MAX_LABEL_CHARS or not label.isprintable():
                raise InvalidInput(
                    f"the label of term {term} must be 1 to {limits.MAX_LABEL_CHARS} printable characters, "
                    f"not {label!r:.80}"
                )
        if self.pieces is not None and len(self.pieces) != len(self.labels):
            raise InvalidInput(f"{len(self.pieces):,} lists of pieces for {len(self.labels):,} terms: one per term")
        wrong = set(map(str, self.kinds)) - set(KINDS)
        if wrong:
            raise InvalidInput(f"unknown kinds of terms {sorted(wrong)}; use {', '.join(KINDS)}")

    def __len__(self) -> int:
        return len(self.labels)

    def label(self, term: int) -> str:
        """The label of a term."""
        if not 0 <= term < len(self.labels):
            raise InvalidInput(f"there is no term {term}: terms are 0 to {len(self.labels) - 1}")
        return self.labels[term]

    def kind(self, term: int) -> str:
        """Lexical, narrow or broad."""
        if not 0 <= term < len(self.kinds):
            raise InvalidInput(f"there is no term {term}: terms are 0 to {len(self.kinds) - 1}")
        return self.kinds[term]

    def counts(self) -> dict[str, int]:
        """Terms of each kind."""
        return {kind: self.kinds.count(kind) for kind in KINDS}

    def find(self, query: str) -> list[int]:
        """Terms whose label has every word of `query` as a word or as the beginning of one; whole words come first.

        Case and accents do not matter.
        """
        wanted = _WORD.findall(_plain(query))
        if not wanted:
            raise InvalidInput(f"{query!r} holds no word to look for among the labels")
        found: list[tuple[int, int, int]] = []
        for term, label in enumerate(self.labels):
            words = _WORD.findall(_plain(label))
            if all(any(word.startswith(w) for word in words) for w in wanted):
                found.append((sum(w not in words for w in wanted), len(words), term))
        return [term for _, _, term in sorted(found)]


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def read_labels(folder: str | Path, n_terms: int | None = None) -> Labels | None:
    """The labels in a model's folder, None where it has none; a damaged file or a wrong number is an error."""
    path = Path(folder) / LABELS_FILE
    if not path.is_file():
        return None
    if path.stat().st_size > limits.MAX_LABEL_FILE_BYTES:
        raise LimitExceeded(f"{path} has {path.stat().st_size:,} bytes, more than {limits.MAX_LABEL_FILE_BYTES:,}")
    try:
        with gzip.open(path, "rb") as stream:
            raw = stream.read(limits.MAX_LABEL_JSON_BYTES + 1)
        if len(raw) > limits.MAX_LABEL_JSON_BYTES:
            raise LimitExceeded(f"{path} unpacks to more than {limits.MAX_LABEL_JSON_BYTES:,} bytes")
        content = json.loads(raw)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if isinstance(error, LimitExceeded):
            raise
        raise InvalidInput(f"{path} is not a readable file of labels: {error}; get the folder again") from error
    labels = _checked(content, path)
    if n_terms is not None and len(labels) != n_terms:
        raise InvalidInput(f"{path} labels {len(labels):,} terms, the vocabulary has {n_terms:,}: they do not belong")
    return labels


def _checked(content: object, path: Path) -> Labels:
    if not isinstance(content, dict) or not isinstance(content.get("version"), int):
        raise InvalidInput(f"{path} does not hold labels with a version")
    if content["version"] > VERSION:
        raise FormatTooNew(f"{path} has version {content['version']}, this zipfian reads {VERSION}: upgrade")
    labels, kinds, rule = (content.get(name) for name in ("labels", "kinds", "rule"))
    if not isinstance(labels, list) or not isinstance(kinds, list) or not isinstance(rule, dict):
        raise InvalidInput(f"{path} lacks the lists 'labels' and 'kinds' or the object 'rule'")
    pieces = content.get("pieces")
    try:
        known = None if pieces is None else tuple(tuple((str(p), float(s)) for p, s in row) for row in pieces)
        return Labels(tuple(labels), tuple(kinds), rule, known)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{path} does not hold labels: {error}") from error


def write_labels(folder: str | Path, labels: Labels) -> Path:
    """Write the file; the same labels give the same bytes."""
    path = Path(folder) / LABELS_FILE
    content: dict[str, Any] = {
        "version": VERSION,
        "labels": list(labels.labels),
        "kinds": list(labels.kinds),
        "rule": dict(labels.rule),
    }
    if labels.pieces is not None:
        content["pieces"] = [[[piece, round(share, 3)] for piece, share in row] for row in labels.pieces]
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(raw, compresslevel=9, mtime=0))
    return path
