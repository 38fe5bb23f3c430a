"""Where activations come from: arrays in memory, shards on disk or a stream of blocks, shuffled and repeatable.

A source hands out batches on a device, knows how many rows an epoch has, and can start again from any position, so
that a training that was stopped goes on with exactly the batches it would have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch


class Source(Protocol):
    """Rows of activations in a random order that depends on seed and epoch alone."""

    dim: int
    rows: int

    def batches(self, epoch: int, batch: int, seed: int, skip: int, device: Any) -> Iterator[Any]:
        """Full batches of one epoch, the first `skip` of them left out. A last, smaller rest is dropped."""
        ...

    def sample(self, rows: int, seed: int, device: Any) -> Any:
        """Some rows (about `rows`, fewer when there are fewer), for mean and scale."""
        ...


def as_tensor(block: Any) -> Any:
    """A block of activations (numpy or torch, float16/32 or bfloat16) as a 2-d tensor, unchanged in type."""
    tensor = block if isinstance(block, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(block))
    if tensor.ndim == 3:
        tensor = tensor.reshape(-1, tensor.shape[2])
    if tensor.ndim != 2 or not tensor.dtype.is_floating_point or tensor.shape[1] == 0:
        raise InvalidInput(
            f"activations are float matrices of tokens x dimensions, not {tensor.dtype} of shape {tuple(tensor.shape)}"
        )
    return tensor


class MemorySource:
    """Rows that are all in memory, on any device. Several parts side by side are concatenated row by row.

    Parts may carry a factor each, as encoders that join layers do; joining per batch saves holding the joined matrix.
    """

    def __init__(self, *parts: Any, factors: Sequence[float] | None = None) -> None:
        if not parts:
            raise InvalidInput("give at least one matrix of activations")
        self._parts = [as_tensor(part) for part in parts]
        self._factors = [1.0] * len(parts) if factors is None else [float(f) for f in factors]
        if len(self._factors) != len(self._parts):
            raise InvalidInput(f"{len(self._factors)} factors for {len(self._parts)} matrices")
        self.rows = int(self._parts[0].shape[0])
        if any(part.shape[0] != self.rows for part in self._parts):
            raise InvalidInput("matrices that are joined must have equally many rows")
        self.dim = sum(int(part.shape[1]) for part in self._parts)

    def take(self, index: Any, device: Any) -> Any:
        """The given rows in float32 on a device."""
        found = []
        for part, factor in zip(self._parts, self._factors, strict=True):
            rows = part.index_select(0, index.to(part.device)).to(device).float()
            found.append(rows if factor == 1.0 else rows * factor)
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)

    def batches(self, epoch: int, batch: int, seed: int, skip: int, device: Any) -> Iterator[Any]:
        """A random order of all rows, drawn on the CPU so that every device sees the same one."""
        generator = torch.Generator().manual_seed(_mix(seed, epoch))
        order = torch.randperm(self.rows, generator=generator).to(self._parts[0].device)
        for place in range(skip, self.rows // batch):
            yield self.take(order[place * batch : (place + 1) * batch], device)

    def sample(self, rows: int, seed: int, device: Any) -> Any:
        """Rows drawn without replacement, in order."""
        if rows >= self.rows:
            chosen = torch.arange(self.rows)
        else:
            generator = torch.Generator().manual_seed(_mix(seed, -1))
            chosen = torch.randperm(self.rows, generator=generator)[:rows].sort().values
        return self.take(chosen, device)


class BlockSource:
    """A stream of blocks through a shuffled buffer: the whole never has to be in memory.

    `blocks(epoch)` gives the blocks of an epoch, the same ones whenever it is called; blocks may be numpy arrays or
    tensors on any device. Blocks are gathered until the buffer is full, and its rows are handed out in random order.
    """

    def __init__(
        self, blocks: Callable[[int], Iterable[Any]], rows: int, dim: int, *, buffer_rows: int = 1_000_000
    ) -> None:
        if rows < 1 or dim < 1 or buffer_rows < 1:
            raise InvalidInput("rows, dim and buffer_rows must be above 0")
        self._blocks = blocks
        self.rows, self.dim, self.buffer_rows = int(rows), int(dim), int(buffer_rows)

    def batches(self, epoch: int, batch: int, seed: int, skip: int, device: Any) -> Iterator[Any]:
        """Batches of the shuffled buffer; what is left of one buffer goes into the next."""
        given = 0
        rest: Any = None
        for window, rows in enumerate(self._windows(epoch)):
            rows = rows if rest is None else torch.cat([rest, rows])
            generator = torch.Generator().manual_seed(_mix(seed, epoch * 1_000_003 + window))
            order = torch.randperm(rows.shape[0], generator=generator).to(rows.device)
            full = rows.shape[0] // batch
            for place in range(full):
                if given >= skip:
                    yield rows.index_select(0, order[place * batch : (place + 1) * batch]).to(device).float()
                given += 1
            rest = rows.index_select(0, order[full * batch :])

    def _checked(self, epoch: int) -> Iterator[Any]:
        for block in self._blocks(epoch):
            tensor = as_tensor(block)
            if tensor.shape[1] != self.dim:
                raise InvalidInput(f"a block has {tensor.shape[1]} dimensions, the source was said to have {self.dim}")
            yield tensor

    def _windows(self, epoch: int) -> Iterator[Any]:
        held: list[Any] = []
        count = 0
        for tensor in self._checked(epoch):
            held.append(tensor)
            count += tensor.shape[0]
            if count >= self.buffer_rows:
                yield torch.cat(held)
                held, count = [], 0
        if held:
            yield torch.cat(held)

    def sample(self, rows: int, seed: int, device: Any) -> Any:
        """The first rows of the stream; shuffle what you stream if its start is unlike the rest."""
        held: list[Any] = []
        count = 0
        for tensor in self._checked(0):
            held.append(tensor)
            count += tensor.shape[0]
            if count >= rows:
                break
        if not held:
            raise InvalidInput("the stream gave no activations")
        return torch.cat(held)[:rows].to(device).float()


def shard_source(folder: str | Path, *, seed: int = 0, buffer_rows: int = 1_000_000) -> BlockSource:
    """A folder of `.npy` matrices (tokens x dim, or items x tokens x dim); their order is shuffled every epoch."""
    paths = sorted(Path(folder).glob("*.npy"))
    if not paths:
        raise InvalidInput(f"{folder} holds no .npy shards of activations")
    rows, dim = 0, 0
    for path in paths:
        head = np.load(path, mmap_mode="r", allow_pickle=False)
        if head.ndim not in (2, 3) or head.dtype.kind != "f":
            raise InvalidInput(f"{path} holds {head.dtype} of shape {head.shape}, not activations")
        if dim and head.shape[-1] != dim:
            raise InvalidInput(f"{path} has {head.shape[-1]} dimensions, the shards before it {dim}")
        dim = int(head.shape[-1])
        rows += int(np.prod(head.shape[:-1]))

    def blocks(epoch: int) -> Iterator[Any]:
        generator = torch.Generator().manual_seed(_mix(seed, epoch))
        for place in torch.randperm(len(paths), generator=generator).tolist():
            yield np.load(paths[place], allow_pickle=False)

    return BlockSource(blocks, rows, dim, buffer_rows=buffer_rows)


def _mix(seed: int, part: int) -> int:
    """One seed out of two numbers."""
    return int(np.random.SeedSequence([seed & (2**63 - 1), part & (2**63 - 1)]).generate_state(1, np.uint64)[0] >> 1)
