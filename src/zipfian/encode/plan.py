"""Which token sequences go through the network together: those of exactly equal length, the longest first.

Equal lengths need no padding, which is both faster than masking and the reason why a text's vectors do not depend on
its neighbours. The longest first, so that threads finish at about the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zipfian.encode.tokens import Pieces
from zipfian.encode.windows import Window, windows
from zipfian.types import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One window of one item."""

    item: int
    order: int
    """Number of the window within its item."""
    window: Window
    pieces: IntArray


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs of equal length."""

    jobs: tuple[Job, ...]

    def rows(self, start: int, end: int) -> IntArray:
        """(jobs, tokens): the pieces of each job between the two special tokens."""
        length = len(self.jobs[0].pieces)
        rows = np.empty((len(self.jobs), length + 2), dtype=np.int32)
        rows[:, 0] = start
        rows[:, -1] = end
        for row, job in zip(rows, self.jobs, strict=True):
            row[1:-1] = job.pieces
        return rows


def jobs_of(item: int, pieces: Pieces, size: int, overlap: int) -> list[Job]:
    """The windows of an item; an empty text is one window of no tokens."""
    return [
        Job(item, order, window, pieces.ids[window.start : window.stop])
        for order, window in enumerate(windows(len(pieces), size, overlap))
    ]


def batches(jobs: Sequence[Job], batch_tokens: int) -> Iterator[Batch]:
    """All jobs, at most `batch_tokens` tokens together (one job at least)."""
    ordered = sorted(jobs, key=lambda job: -len(job.pieces))
    start = 0
    while start < len(ordered):
        length = len(ordered[start].pieces)
        most = start + max(1, batch_tokens // (length + 2))
        stop = start + 1
        while stop < min(most, len(ordered)) and len(ordered[stop].pieces) == length:
            stop += 1
        yield Batch(tuple(ordered[start:stop]))
        start = stop
