"""From items to a source of activations: every item goes through a frozen encoder once, its token vectors are kept.

In memory where they fit, otherwise as shards on disk that a training reads again in every epoch. The vectors are kept
as float16: a tenth of a percent, far below what an autoencoder leaves unexplained.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.encode.base import GROUP_CHARS, GROUP_ITEMS, Encoder
from zipfian.errors import DiskFull, InvalidInput
from zipfian.storage.replace import replacing
from zipfian.train.source import MemorySource, Source, shard_source
from zipfian.types import Encoded

Half = npt.NDArray[np.float16]
Item = tuple[str, Any]
"""How to call it in a message, and what the encoder takes."""
Store = Literal["memory", "disk"]
Skipped = Callable[[str, str], None]

SHARD_ROWS = 65_536
HELD_OUT_EVERY = 20
"""One item in so many is kept from the training, to measure on."""
HELD_OUT_ROWS = 65_536
BUFFER_BYTES = 2**30
"""Of activations that are shuffled together when they come from disk."""
MARKER = "activations.json"
BYTES = 2
"""Of one component."""


@dataclass(slots=True, eq=False)
class Activations:
    """What a training needs."""

    source: Source
    held_out: Any
    """Rows that are in no batch; None where there are too few items to spare any."""
    items: int
    skipped: int
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.source.rows


def gather(
    encoder: Encoder[Any],
    items: Iterable[Item],
    *,
    folder: Path | None = None,
    identity: str = "",
    limit: int | None = None,
    skipped: Skipped | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Activations:
    """Encode items and keep the vectors, in memory or, where a folder is given, there.

    Parameters
    ----------
    identity
        Says which encoder, data and settings it is; a folder that holds exactly these already is used as it is.
    limit
        Stop after so many tokens.
    skipped
        Called with name and reason of every item that cannot be encoded; without it such an item is an error.
    progress
        Called with the items and tokens done.
    """
    if folder is not None and identity and (known := _complete(folder, identity)):
        return known
    keeper: _Memory | _Shards = _Memory() if folder is None else _Shards(folder)
    held: list[Half] = []
    held_rows = count = lost = 0
    for group in _groups(items):
        outcomes = encoder.try_documents([item for _, item in group])
        for (name, _), outcome in zip(group, outcomes, strict=True):
            if not isinstance(outcome, Encoded):
                if skipped is None:
                    raise outcome
                skipped(name, str(outcome))
                lost += 1
                continue
            rows = _half(outcome.vectors, name)
            if count % HELD_OUT_EVERY == HELD_OUT_EVERY - 1 and held_rows < HELD_OUT_ROWS:
                held.append(rows)
                held_rows += len(rows)
            else:
                keeper.add(rows)
            count += 1
        if progress is not None:
            progress(count + lost, keeper.rows)
        if limit is not None and keeper.rows >= limit:
            break
    if not keeper.rows:
        raise InvalidInput(f"the data gave no tokens to train on ({count} items read, {lost} could not be encoded)")
    held_out = np.concatenate(held) if held_rows else np.empty((0, encoder.dim), dtype=np.float16)
    return keeper.finish(held_out, identity, count, lost)


def _groups(items: Iterable[Item]) -> Iterator[list[Item]]:
    group: list[Item] = []
    chars = 0
    for name, item in items:
        size = len(item) if isinstance(item, str) else 0
        if group and (len(group) >= GROUP_ITEMS or chars + size > GROUP_CHARS):
            yield group
            group, chars = [], 0
        group.append((name, item))
        chars += size
    if group:
        yield group


def _half(vectors: npt.NDArray[np.float32], name: str) -> Half:
    with np.errstate(over="ignore"):
        rows = vectors.astype(np.float16)
    if not np.isfinite(rows).all():
        raise InvalidInput(
            f"{name}: a token vector holds {np.abs(vectors).max():g}, which float16 cannot: choose another layer"
        )
    return rows


class _Memory:
    """Rows in memory."""

    def __init__(self) -> None:
        self._parts: list[Half] = []
        self.rows = 0

    def add(self, rows: Half) -> None:
        self._parts.append(rows)
        self.rows += len(rows)

    def finish(self, held_out: Half, identity: str, items: int, skipped: int) -> Activations:
        whole = np.concatenate(self._parts)
        self._parts.clear()
        return Activations(MemorySource(whole), _tensor(held_out), items, skipped)


class _Shards:
    """Rows in files of equal size; a file has its name only once it is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if folder.exists():
            shutil.rmtree(folder)
        (folder / "shards").mkdir(parents=True)
        self._parts: list[Half] = []
        self._waiting = 0
        self._written = 0
        self.rows = 0

    def add(self, rows: Half) -> None:
        self._parts.append(rows)
        self._waiting += len(rows)
        self.rows += len(rows)
        if self._waiting >= SHARD_ROWS:
            self._flush()

    def finish(self, held_out: Half, identity: str, items: int, skipped: int) -> Activations:
        if self._waiting:
            self._flush()
        _save(self._folder / "held-out.npy", held_out, self.rows)
        about = {"identity": identity, "items": items, "skipped": skipped, "rows": self.rows}
        with replacing(self._folder / MARKER) as file:
            file.write(json.dumps(about).encode())
        return _read(self._folder, items, skipped)

    def _flush(self) -> None:
        _save(self._folder / "shards" / f"{self._written:06d}.npy", np.concatenate(self._parts), self.rows)
        self._written += 1
        self._parts, self._waiting = [], 0


def _save(path: Path, rows: Half, done: int) -> None:
    try:
        with replacing(path, sync=False) as stream:  # what a power cut costs is encoded again
            np.save(stream, rows, allow_pickle=False)
    except DiskFull as error:
        raise DiskFull(
            f"{path.parent}: the disk is full after {done:,} tokens. Free some space, train on fewer tokens (--limit) "
            "or put the output on another disk (--out)"
        ) from error


def _complete(folder: Path, identity: str) -> Activations | None:
    """What an earlier run left, if it is exactly what is wanted now."""
    try:
        about = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        if about["identity"] != identity:
            return None
        found = _read(folder, int(about["items"]), int(about["skipped"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.rows == about["rows"] else None


def _read(folder: Path, items: int, skipped: int) -> Activations:
    held_out = np.load(folder / "held-out.npy", allow_pickle=False)
    source = shard_source(folder / "shards")
    source.buffer_rows = max(SHARD_ROWS, BUFFER_BYTES // (BYTES * source.dim))
    return Activations(source, _tensor(held_out), items, skipped)


def _tensor(rows: Half) -> Any:
    from zipfian.train._torch import torch

    return torch.from_numpy(np.ascontiguousarray(rows)).float() if len(rows) > 1 else None


def check_room(folder: Path, tokens: int, dim: int) -> None:
    """Refuse to start what the disk cannot take."""
    there = folder
    while not there.exists():
        there = there.parent
    free, needed = shutil.disk_usage(there).free, tokens * dim * BYTES
    if needed > free:
        raise DiskFull(
            f"{folder}: the activations of about {tokens:,} tokens take {needed / 2**30:.1f} GiB, "
            f"{free / 2**30:.1f} GiB are free. Train on fewer tokens (--limit) or put the output elsewhere (--out)"
        )


def estimate_tokens(encoder: Encoder[Any], sample: Sequence[Any], items: int) -> int:
    """Tokens of all items, judged by some of them."""
    counts = encoder.count_tokens(sample) if sample else []
    return round(sum(counts) / len(counts) * items) if counts else 0
