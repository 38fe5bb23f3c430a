"""Put the windows of one text back together: each token's vector once, and one pooled vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zipfian.encode.hub.tokenizing import Frame, Rows
from zipfian.encode.plan import Job, jobs_of
from zipfian.encode.tokens import Pieces
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Windows that go through the network together."""

    jobs: tuple[Job, ...]
    rows: Rows
    starts: Rows
    """Where in each row the frame begins."""
    mask: Rows | None
    """1 for what may be looked at; None where every row is full."""

    def __len__(self) -> int:
        return len(self.jobs)

    def __getitem__(self, rows: slice) -> Batch:
        """Some of the windows."""
        mask = None if self.mask is None else self.mask[rows]
        return Batch(self.jobs[rows], self.rows[rows], self.starts[rows], mask)


def batches(jobs: Sequence[Job], frame: Frame, batch_tokens: int, round_to: int) -> Iterator[Batch]:
    """All windows, the longest first, at most `batch_tokens` tokens together (one window at least).

    Windows share a batch when they are equally long after rounding up to a multiple of `round_to`.
    """
    size = frame.size

    def rounded(job: Job) -> int:
        return frame.width or -(-(len(job.pieces) + size) // round_to)

    ordered = sorted(jobs, key=lambda job: -len(job.pieces))
    start = 0
    while start < len(ordered):
        key = rounded(ordered[start])
        length = frame.width or len(ordered[start].pieces) + size
        most = start + max(1, batch_tokens // max(1, length))
        stop = start + 1
        while stop < min(most, len(ordered)) and rounded(ordered[stop]) == key:
            stop += 1
        together = tuple(ordered[start:stop])
        rows, starts = frame.rows([job.pieces for job in together])
        lengths = np.array([len(job.pieces) + size for job in together])
        padded = frame.width is None and lengths.min() < rows.shape[1]
        mask = (np.arange(rows.shape[1]) < lengths[:, None]).astype(np.int64) if padded else None
        yield Batch(together, rows, starts, mask)
        start = stop


class Text:
    """One text while its windows come in."""

    def __init__(self, item: int, pieces: Pieces, frame: Frame, content: int, overlap: int, dim: int) -> None:
        self.pieces = pieces
        self.jobs = jobs_of(item, pieces, content, overlap)
        self._frame = frame
        self.vectors: FloatArray = np.empty((len(pieces), dim), dtype=np.float32)
        self._parts: list[npt.NDArray[np.float64]] = [np.empty(0)] * len(self.jobs)
        self._missing = len(self.jobs)

    @property
    def size(self) -> int:
        """Tokens that count in a mean: the text's and one frame's."""
        return len(self.pieces) + self._frame.size

    def place(self, job: Job, start: int, states: Sequence[FloatArray], factors: Sequence[float]) -> None:
        """The hidden states (row, width) of one window, each layer's beside the other's."""
        window = job.window
        kept = slice(window.keep_start, window.keep_stop)
        first = start + len(self._frame.before) + window.keep_start - window.start
        column = 0
        for state, factor in zip(states, factors, strict=True):
            part = state[first : first + window.keep_stop - window.keep_start]
            np.multiply(part, np.float32(factor), out=self.vectors[kept, column : column + state.shape[1]])
            column += state.shape[1]

    def pool_mean(self, job: Job, start: int, last: FloatArray) -> None:
        """All tokens count, the frame's too: its beginning from the first window, its end from the last one."""
        window, before, after = job.window, len(self._frame.before), len(self._frame.after)
        here = start + before + window.keep_start - window.start
        stop = here + window.keep_stop - window.keep_start
        if job.order == 0:
            here = start
        if job.order == len(self._parts) - 1:
            stop += after
        self._parts[job.order] = last[here:stop].sum(axis=0, dtype=np.float64)

    def pool_one(self, job: Job, vector: FloatArray) -> None:
        """One vector a window, all with the same weight."""
        length = float(np.linalg.norm(vector.astype(np.float64)))
        self._parts[job.order] = vector.astype(np.float64) / (length or 1.0)

    def finished_one(self) -> bool:
        """Count a window as done; whether it was the last."""
        self._missing -= 1
        return self._missing == 0

    def pooled(self) -> npt.NDArray[np.float64]:
        """The sum over windows, of any length."""
        total: npt.NDArray[np.float64] = np.sum(self._parts, axis=0)
        return total


def unit(vector: npt.NDArray[np.float64]) -> FloatArray:
    """Of length 1; a network whose output is no number is an error."""
    length = float(np.linalg.norm(vector))
    if not (np.isfinite(length) and length > 0):
        raise InvalidInput("the encoder's output is not finite: the weights, the precision or the device are at fault")
    return (vector / length).astype(np.float32)


Planned = Text | ZipfianError
