"""The windows of many texts through a network on a GPU: few large copies, no waiting in between.

All word pieces of a group of texts and one table of their windows go to the device at once. Batches are cut from there,
the longest windows first and filled up to a multiple of 8; the vectors of tokens are put into one matrix, which stays
on the device, and one sum a window comes back for the pooled vectors. Nothing is read back before all batches are under
way. A text's vectors depend on its company only by rounding: by less than 1e-5 of their length in float32.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.device import Precision, from_host, no_room, running, torch_device
from zipfian.encode.base import Outcome, Progress
from zipfian.encode.on_device import Matrix, OnDevice
from zipfian.encode.plan import Job
from zipfian.encode.tokens import Pieces, PieceTokenizer
from zipfian.encode.torch_bert import TorchBert
from zipfian.errors import DeviceMemory, InvalidInput, ZipfianError
from zipfian.types import Encoded

Ints = npt.NDArray[np.int64]

BATCH_TOKENS = 131_072
"""Of a pass: enough to keep a large GPU busy."""
GROUP_TOKENS = 1 << 21
"""Tokens whose vectors lie on the device at a time: 3 GB of float32 for each chosen layer of 384 numbers."""
MULTIPLE = 8
"""Rows are filled up to a multiple of this: fused attention with a mask needs it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of the network."""

    layers: tuple[tuple[int, float], ...]
    """Numbers of blocks, and the factor of each."""
    last: int
    """The number of blocks whose states are pooled."""
    keep_special: bool


class _Windows:
    """The windows of some texts as arrays, one number each: what lies where, before and after the network."""

    def __init__(self, items: Sequence[Pieces], jobs: Sequence[Job], keep_special: bool) -> None:
        sizes = np.array([len(pieces) for pieces in items], np.int64)
        self.item = np.array([job.item for job in jobs], np.int64)
        start = np.array([job.window.start for job in jobs], np.int64)
        first = np.diff(self.item, prepend=-1) > 0
        final = np.diff(self.item, append=len(items)) > 0
        self.first_of_item = np.flatnonzero(first)
        self.size = np.array([len(job.pieces) for job in jobs], np.int64)
        self.pieces = np.concatenate([job.pieces for job in jobs]) if jobs else np.empty(0, np.int32)
        self.at = np.cumsum(self.size) - self.size
        # Columns that a window speaks for, counted with the start token as 0; as `Gathering` takes them.
        begin = np.array([job.window.keep_start for job in jobs], np.int64) + ~first
        end = np.array([job.window.keep_stop for job in jobs], np.int64) + 1 + final
        self.pool_begin, self.pool_end = begin - start, end - start
        rows = sizes + 2 * keep_special
        self.row_of_item = np.cumsum(rows) - rows
        self.n_rows = int(rows.sum())
        skipped = 0 if keep_special else 1
        begin, end = np.maximum(begin, skipped), np.minimum(end, sizes[self.item] + 2 - skipped)
        self.begin, self.end = begin - start, end - start
        self.row = self.row_of_item[self.item] + begin - skipped

    def table(self) -> Ints:
        """What the device has to know of every window."""
        return np.stack([self.size, self.at, self.pool_begin, self.pool_end, self.begin, self.row])

    def __len__(self) -> int:
        return len(self.size)


class DeviceTexts:
    """A network on a device, ready to read texts; safe to share between threads, which take turns at the device."""

    def __init__(
        self, make: Callable[[Any, Precision], TorchBert], device: str, precision: Precision, tokenizer: PieceTokenizer,
        settings: Settings, batch_tokens: int,
    ) -> None:  # fmt: skip
        self._make = make
        self._device = device
        self._precision: Precision = precision
        self._tokenizer = tokenizer
        self._settings = settings
        self.batch_tokens = batch_tokens
        """Tokens of a pass; halved whenever the device has no room for so many."""
        self.fell_back = 0
        """Texts that came out of half precision as no numbers, and were encoded in float32 instead."""
        self._networks: dict[Precision, TorchBert] = {}
        self._lock = threading.RLock()
        self._network(precision)

    def encode(
        self, items: Sequence[Pieces | ZipfianError], jobs: Sequence[Job], progress: Progress | None
    ) -> list[Outcome]:
        """The texts in order; what was wrong with one already stays in its place.

        The vectors of one group stay on the device; where there are several, they are fetched, so that a call takes no
        more of its memory than one group does.
        """
        results: list[Outcome] = []
        found = list(_groups(items, jobs))
        for group, theirs in found:
            made = iter(self._group([p for p in group if isinstance(p, Pieces)], theirs, self._precision))
            for pieces in group:
                outcome: Outcome = pieces if isinstance(pieces, ZipfianError) else next(made)
                results.append(outcome.fetched() if len(found) > 1 and isinstance(outcome, OnDevice) else outcome)
            if progress is not None:
                progress(len(results), len(items))
        return results

    def _group(self, items: Sequence[Pieces], jobs: Sequence[Job], precision: Precision) -> list[Outcome]:
        """One group; in halves where the device has no room for all of it."""
        if not items:
            return []
        windows = _Windows(items, jobs, self._settings.keep_special)
        with running(self._device) as torch:
            passed = None
            with contextlib.suppress(torch.OutOfMemoryError):
                passed = self._passed(torch, windows, precision)
            if passed is None:
                torch.cuda.empty_cache()
        if passed is not None:
            return self._outcomes(items, jobs, windows, *passed, precision)
        if len(items) == 1:
            raise DeviceMemory(
                self._device, f"a text of {len(items[0]):,} tokens", "use a smaller max_tokens, or device='cpu'"
            )
        half = len(items) // 2
        left = [job for job in jobs if job.item < half]
        right = [Job(job.item - half, job.order, job.window, job.pieces) for job in jobs if job.item >= half]
        return self._group(items[:half], left, precision) + self._group(items[half:], right, precision)

    def _passed(
        self, torch: Any, windows: _Windows, precision: Precision
    ) -> tuple[Any, npt.NDArray[np.float64]]:  # fmt: skip
        """The vectors of all tokens, on the device, and the sums of the windows, here."""
        with self._lock:
            network = self._network(precision)
            flat = from_host(windows.pieces, network.device).long()
            table = from_host(windows.table(), network.device)
            shape = (windows.n_rows, network.width * len(self._settings.layers))
            matrix = torch.empty(shape, dtype=network.dtype, device=network.device)
            sums = torch.empty((len(windows), network.width), dtype=torch.float32, device=network.device)
            order = np.argsort(-windows.size, kind="stable")
            at = 0
            while at < len(order):
                longest = int(windows.size[order[at]]) + 2
                some = order[at : at + max(1, self.batch_tokens // longest)]
                try:
                    self._batch(torch, network, flat, table, windows, some, matrix, sums)
                except torch.OutOfMemoryError:
                    if len(some) == 1:
                        raise
                    self._halve(torch, len(some) * longest)
                    continue
                at += len(some)
        return matrix, sums.cpu().numpy().astype(np.float64)  # the only wait, with the device free for the next group

    def _batch(
        self, torch: Any, network: TorchBert, flat: Any, table: Any, windows: _Windows, some: Ints, matrix: Any,
        sums: Any,
    ) -> None:  # fmt: skip
        """One pass; `some` are numbers of windows."""
        device, chosen = network.device, from_host(some, network.device)
        size, at, pool_begin, pool_end, begin, row = table.index_select(1, chosen)
        lengths = size + 2
        tokens = -(-(int(windows.size[some[0]]) + 2) // MULTIPLE) * MULTIPLE
        tokens = min(tokens, network.positions)
        column = torch.arange(tokens, device=device)
        inner = (column >= 1) & (column <= size[:, None])
        pieces = torch.zeros((len(some), tokens), dtype=torch.long, device=device)
        if len(flat):
            pieces = torch.where(inner, flat[(at[:, None] + column - 1).clamp(0, len(flat) - 1)], pieces)
        pieces[:, 0] = self._tokenizer.start
        pieces.scatter_(1, size[:, None] + 1, self._tokenizer.end)
        full = int(windows.size[some].min()) + 2 == tokens
        states = network.run(pieces, None if full else lengths, self._wanted)
        others = (column < pool_begin[:, None]) | (column >= pool_end[:, None])
        # Filled, not multiplied by 0: what stands beyond the end of a row may be anything, no number even.
        last = states[self._settings.last].float().masked_fill(others[:, :, None], 0.0)
        sums[chosen] = last.sum(dim=1)
        kept = windows.end[some] - windows.begin[some]
        total = int(kept.sum())
        many = from_host(kept, device)
        owner = torch.repeat_interleave(torch.arange(len(some), device=device), many, output_size=total)
        within = torch.arange(total, device=device) - (many.cumsum(0) - many)[owner]
        source, target = owner * tokens + begin[owner] + within, row[owner] + within
        for place, (layer, factor) in enumerate(self._settings.layers):
            found = states[layer].reshape(-1, network.width)[source]
            if factor != 1.0:
                found = found * factor
            matrix[target, place * network.width : (place + 1) * network.width] = found

    def _outcomes(
        self, items: Sequence[Pieces], jobs: Sequence[Job], windows: _Windows, rows: Any,
        sums: npt.NDArray[np.float64], precision: Precision,
    ) -> list[Outcome]:  # fmt: skip
        """The texts, each with its part of the matrix."""
        totals = np.add.reduceat(sums, windows.first_of_item, axis=0)
        lengths = np.linalg.norm(totals, axis=1)
        good = np.isfinite(lengths) & (lengths > 0)
        pooled = (totals / np.where(good, lengths, 1.0)[:, None]).astype(np.float32)
        matrix = Matrix(rows, self._device, precision)
        special = self._with_special(items)
        out: list[Outcome] = [
            self._encoded(matrix, int(windows.row_of_item[number]), pieces, pooled[number], special[number])
            for number, pieces in enumerate(items)
        ]
        bad = np.flatnonzero(~good).tolist()
        for number, outcome in zip(bad, self._again(items, jobs, bad, precision), strict=True):
            out[number] = outcome
        return out

    def _again(
        self, items: Sequence[Pieces], jobs: Sequence[Job], bad: Sequence[int], precision: Precision
    ) -> list[Outcome]:
        """Texts whose sums are no numbers: half precision cannot hold every number that float32 can."""
        if not bad:
            return []
        if precision == "float32":
            wrong = InvalidInput("the encoder's output is not finite: the weights or the device are at fault")
            return [wrong] * len(bad)
        place = {number: i for i, number in enumerate(bad)}
        theirs = [Job(place[job.item], job.order, job.window, job.pieces) for job in jobs if job.item in place]
        with self._lock:
            self.fell_back += len(bad)
        return self._group([items[number] for number in bad], theirs, "float32")

    def _with_special(self, items: Sequence[Pieces]) -> list[bool]:
        """Which texts hold special pieces: asked of all at once, as asking one by one takes longer than encoding."""
        found = np.isin(np.concatenate([pieces.ids for pieces in items]), self._tokenizer.special)
        ends = np.cumsum([0, *map(len, items)])
        counts = np.concatenate([[0], np.cumsum(found)])
        some: list[bool] = (counts[ends[1:]] > counts[ends[:-1]]).tolist()
        return some

    def _encoded(self, matrix: Matrix, first: int, pieces: Pieces, pooled: Any, special: bool) -> Encoded:
        ids, spans = pieces.ids, pieces.spans
        if self._settings.keep_special:
            end = spans[-1, 1] if len(spans) else 0
            ids = np.concatenate(([self._tokenizer.start], ids, [self._tokenizer.end])).astype(np.int32)
            spans = np.concatenate(([[0, 0]], spans, [[end, end]])).astype(np.int32)
            return OnDevice(matrix, slice(first, first + len(ids)), None, spans, ids, pooled)
        rows = slice(first, first + len(ids))
        if not special:
            return OnDevice(matrix, rows, None, spans, ids, pooled)
        kept = ~np.isin(ids, self._tokenizer.special)
        return OnDevice(matrix, rows, kept, spans[kept], ids[kept], pooled)

    @property
    def _wanted(self) -> list[int]:
        return sorted({self._settings.last, *(layer for layer, _ in self._settings.layers)})

    def _network(self, precision: Precision) -> TorchBert:
        with self._lock:
            if precision not in self._networks:
                self._networks[precision] = self._make(torch_device(self._device), precision)
            return self._networks[precision]

    def _halve(self, torch: Any, tried: int) -> None:
        self.batch_tokens = max(1, min(self.batch_tokens, tried) // 2)
        no_room(torch, self._device, tried, "tokens", self.batch_tokens)


def _groups(
    items: Sequence[Pieces | ZipfianError], jobs: Sequence[Job]
) -> Iterator[tuple[Sequence[Pieces | ZipfianError], list[Job]]]:
    """Consecutive texts with at most GROUP_TOKENS tokens (one text at least), and their windows, numbered anew.

    Windows are numbered by the readable texts alone, so that a bad one leaves no gap.
    """
    if sum(map(_size, items)) <= GROUP_TOKENS and not any(isinstance(pieces, ZipfianError) for pieces in items):
        yield items, list(jobs)
        return
    start = tokens = place = 0
    by_item: dict[int, list[Job]] = {}
    for job in jobs:
        by_item.setdefault(job.item, []).append(job)
    theirs: list[Job] = []
    for number, pieces in enumerate(items):
        if number > start and tokens + _size(pieces) > GROUP_TOKENS:
            yield items[start:number], theirs
            start, tokens, place, theirs = number, 0, 0, []
        tokens += _size(pieces)
        if isinstance(pieces, Pieces):
            theirs += [Job(place, job.order, job.window, job.pieces) for job in by_item[number]]
            place += 1
    yield items[start:], theirs


def _size(pieces: Pieces | ZipfianError) -> int:
    return len(pieces) + 2 if isinstance(pieces, Pieces) else 0
