"""Put an item's windows back together: each token's vector once, and one pooled vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zipfian.encode.plan import Job
from zipfian.encode.tokens import Pieces, PieceTokenizer
from zipfian.errors import InvalidInput
from zipfian.types import Encoded, FloatArray


class Gathering:
    """One item while its windows come in, from any thread and in any order."""

    def __init__(self, pieces: Pieces, parts: int, dim: int) -> None:
        self._pieces = pieces
        self._sums: list[npt.NDArray[np.float64]] = [np.empty(0)] * parts
        self._vectors: FloatArray = np.empty((len(pieces) + 2, dim), dtype=np.float32)
        self._missing = parts

    def add_states(self, job: Job, states: Sequence[FloatArray], factors: Sequence[float], last: FloatArray) -> None:
        """The hidden states (tokens + 2, width) of one window: the chosen ones, and those whose mean is pooled.

        The first state, of [CLS], is used only from the item's first window and the last, of [SEP], only from its
        last window: a text of one window then gives exactly what the model's authors compute.
        """
        here = self._put(job, states, factors)
        self._sums[job.order] = last[here].sum(axis=0, dtype=np.float64)

    def add_pooled(self, job: Job, states: FloatArray, pooled: FloatArray) -> None:
        """The states (tokens + 2, width) of one window, and the vector that the network gave for all of it."""
        self._put(job, [states], [1.0])
        self._sums[job.order] = pooled.astype(np.float64)

    def _put(self, job: Job, states: Sequence[FloatArray], factors: Sequence[float]) -> slice:
        """Keep the vectors of the tokens that the window speaks for; where these are among its states."""
        window, first, final = job.window, job.order == 0, job.order == len(self._sums) - 1
        start, stop = window.keep_start + (not first), window.keep_stop + 1 + final
        here = slice(start - window.start, stop - window.start)
        for i, (state, factor) in enumerate(zip(states, factors, strict=True)):
            width = state.shape[1]
            part = self._vectors[start:stop, i * width : (i + 1) * width]
            np.multiply(state[here], np.float32(factor), out=part)
        return here

    def finished_one(self) -> bool:
        """Count a window as done; whether it was the last. Only for the thread that collects."""
        self._missing -= 1
        return self._missing == 0

    def encoded(self, tokenizer: PieceTokenizer, keep_special: bool) -> Encoded:
        """The whole item."""
        total = np.sum(self._sums, axis=0)
        length = float(np.linalg.norm(total))
        if not (np.isfinite(length) and length > 0):
            raise InvalidInput("the encoder's output is not finite: the weights or the processor are at fault")
        pooled = (total / length).astype(np.float32)
        ids, spans = self._pieces.ids, self._pieces.spans
        if keep_special:
            end = spans[-1, 1] if len(spans) else 0
            ids = np.concatenate(([tokenizer.start], ids, [tokenizer.end])).astype(np.int32)
            spans = np.concatenate(([[0, 0]], spans, [[end, end]])).astype(np.int32)
            return Encoded(self._vectors, spans, ids, pooled)
        vectors = self._vectors[1:-1]
        kept = ~np.isin(ids, tokenizer.special)
        if not kept.all():
            vectors, spans, ids = vectors[kept], spans[kept], ids[kept]
        return Encoded(vectors, spans, ids, pooled)
