"""What a training reads: texts or pictures of a source, twice over, with a hash of their content."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zipfian.errors import InvalidInput
from zipfian.ingest.lines import TOO_LONG, numbered_lines
from zipfian.ingest.source import BadItem, Source, open_source
from zipfian.limits import MAX_IMAGE_BYTES, MAX_TEXT_CHARS
from zipfian.storage.regular import sha256_of

SAMPLE = 200
"""Items whose tokens are counted to judge all of them."""

Item = tuple[str, Any]
Skipped = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Survey:
    """The outcome of the first reading."""

    items: int
    sha256: str
    """Of the content of all items in order; names do not count."""
    sample: list[Any]


@dataclass(frozen=True, slots=True)
class Data:
    """A folder, a file of records, a text file or, with `lines`, a file with a text on each line."""

    path: Path | Source
    """A source is read as it was opened."""
    wanted: Literal["text", "image"]
    """What of each document is trained on."""
    lines: bool = False
    text_column: str | None = None

    @property
    def name(self) -> Path:
        """Where it is, for messages."""
        return self.path.path if isinstance(self.path, Source) else self.path

    def items(self, skipped: Skipped) -> Iterator[Item]:
        """Name and content (a picture: its path) of every item, in a stable order."""
        if self.lines:
            yield from self._lines(skipped)
            return
        opened = self.path if isinstance(self.path, Source) else open_source(self.path, text_column=self.text_column)
        for found in opened:
            if isinstance(found, BadItem):
                skipped(found.where, found.problem)
            elif self.wanted == "image" and found.image is not None:
                yield found.where or found.id, found.image
            elif self.wanted == "text" and found.text:
                yield found.where or found.id, found.text

    def survey(self, skipped: Skipped) -> Survey:
        """Read everything once: how much, what exactly, and some items drawn at random (always the same ones)."""
        digest, count = hashlib.sha256(), 0
        sample: list[Any] = []
        chance = random.Random(0)
        for _, item in self.items(skipped):
            content = _content(item, self.wanted)
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
            count += 1
            if len(sample) < SAMPLE:
                sample.append(item)
            elif (place := chance.randrange(count)) < SAMPLE:
                sample[place] = item
        if not count:
            what = "texts" if self.wanted == "text" else "pictures"
            raise InvalidInput(f"{self.name}: no {what} were found there to train on")
        return Survey(count, digest.hexdigest(), sample)

    def _lines(self, skipped: Skipped) -> Iterator[Item]:
        if self.text_column is not None:
            raise InvalidInput(
                "text_column (--text-column) names a field of records: a file of lines (--lines) has none"
            )
        if isinstance(self.path, Source) or self.wanted != "text" or not self.path.is_file():
            raise InvalidInput(f"lines (--lines) reads a text on each line of a file; {self.name} is not one")
        for number, raw in numbered_lines(self.path):
            where = f"{self.path}:{number}"
            if raw is None:
                skipped(where, TOO_LONG)
                continue
            try:
                text = raw.decode("utf-8-sig").strip()
            except UnicodeDecodeError as error:
                skipped(where, f"not UTF-8 (byte {error.start:,} of the line)")
                continue
            if len(text) > MAX_TEXT_CHARS:
                skipped(where, f"{len(text):,} characters, more than the limit of {MAX_TEXT_CHARS:,}")
            elif text:
                yield where, text


def _content(item: Any, kind: str) -> bytes:
    if kind == "text":
        return str(item).encode(errors="surrogatepass")
    return bytes.fromhex(sha256_of(item, MAX_IMAGE_BYTES))
