"""Batches of queries on a GPU, block by block in its shared memory: `device_kernels.cu`, and who gets a place.

The best score of every bucket of neighbouring documents comes first. The k-th best of those is reached by at least k
documents, so whoever reaches it is written down, with room for a few times k, and sorted: by score, and where scores
are equal by document. Where far more reach it than there is room for (many equal scores), the caller is told which
queries they are.
"""

from __future__ import annotations

import functools
import importlib.resources
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from zipfian.device import from_host
from zipfian.retrieve.device_parts import Part
from zipfian.retrieve.weighing import Ids, Scores

BLOCK_DOCS = 8192
"""Documents of a block: 64 KB of sums, so that three blocks share a multiprocessor's shared memory."""
THREADS = 512
"""Of a block."""
MOST_BUCKETS = 1024
"""Of a block at most."""
COMPILER = "_compile_kernel"
"""Of torch.cuda, which has no public name for it yet; where it is gone, plain torch does the work."""


class Launch(Protocol):
    """A compiled kernel: for each query and each block of documents."""

    def __call__(self, queries: int, blocks: int, args: Sequence[Any]) -> None:
        """Put it under way; tensors of the device and integers."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Those of `device_kernels.cu`."""

    maxima: Launch
    collect: Launch
    block_docs: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a batch came to."""

    ids: Ids
    """(queries, k); unused places -1."""
    scores: Scores
    open: Ids
    """Queries whose last place more documents share than there was room for: nothing is said of them."""


def source() -> str:
    """The kernels as they are written."""
    return importlib.resources.files("zipfian.retrieve").joinpath("device_kernels.cu").read_text("utf-8")


@functools.cache
def kernels_for(device: str) -> Kernels | None:
    """The kernels compiled for a GPU; None where they cannot be, which is said once."""
    import torch

    if not device.startswith("cuda"):
        return None
    code = f"#define BLOCK_DOCS {BLOCK_DOCS}\n#define THREADS {THREADS}\n{source()}"
    try:
        with torch.cuda.device(device), _any_toolkit():
            compiled = getattr(torch.cuda, COMPILER)
            made = [_launch(compiled(code, name), device) for name in ("maxima", "collect")]
    except (AttributeError, OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0][:200]
        warnings.warn(
            f"kernels for {device!r} could not be compiled ({reason}); batches of queries go through plain torch, "
            "which gives the same hits more slowly",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
        return None
    return Kernels(made[0], made[1], BLOCK_DOCS)


@contextmanager
def _any_toolkit() -> Iterator[None]:
    """torch's compiler asks where CUDA's headers lie, and wheels of torch come without; the kernels need none."""
    from torch.utils import cpp_extension

    before = cpp_extension.CUDA_HOME
    try:
        cpp_extension.CUDA_HOME = before or tempfile.gettempdir()
        yield
    finally:
        cpp_extension.CUDA_HOME = before


def _launch(kernel: Any, device: str) -> Launch:
    import torch

    shared = 8 * BLOCK_DOCS
    kernel.set_shared_memory_config(shared)

    def launch(queries: int, blocks: int, args: Sequence[Any]) -> None:
        with torch.cuda.device(device):
            kernel(grid=(queries, blocks, 1), block=(THREADS, 1, 1), args=list(args), shared_mem=shared)

    return launch


def places(k: int) -> int:
    """Documents of a query that are written down at most: rarely many more than k reach the last place."""
    return 4 * k + 256


def best_of_blocks(
    torch: Any, kernels: Kernels, parts: Sequence[Part], queries: tuple[Ids, Ids, Scores], k: int, hidden: Any | None,
    device: Any,
) -> Found:  # fmt: skip
    """The best k of all parts; `queries` are row starts, slots and weights."""
    rows, slots, weight = queries
    n, n_docs = len(rows) - 1, parts[-1].first + parts[-1].n_docs
    pairs = [(part, part.cuts) for part in parts if part.cuts is not None]
    n_blocks = sum(cuts.n_blocks for _, cuts in pairs)
    buckets = _buckets(n_blocks, k, kernels.block_docs)
    columns = n_blocks * buckets
    room = min(n_docs, places(k))
    here = slice(int(rows[0]), int(rows[-1]))
    asked = [
        from_host(rows - rows[0], device), from_host(slots[here].astype(np.int32), device),
        from_host(np.ascontiguousarray(weight[here]), device),
    ]  # fmt: skip
    best = torch.empty((n, columns), dtype=torch.float64, device=device)
    count = torch.zeros(n, dtype=torch.int32, device=device)
    ids = torch.full((n, room), -1, dtype=torch.int32, device=device)
    scores = torch.zeros((n, room), dtype=torch.float64, device=device)
    given = []
    for part, cuts in pairs:
        masked = count if hidden is None else hidden[part.first : part.first + part.n_docs]
        column = part.first // kernels.block_docs * buckets
        given.append([
            part.docs, part.impacts, cuts.start, cuts.row, cuts.cuts, cuts.n_blocks + 1, *asked, masked,
            int(hidden is not None), part.n_docs, buckets, best, columns, column,
        ])  # fmt: skip
    for args, (_, cuts) in zip(given, pairs, strict=True):
        kernels.maxima(n, cuts.n_blocks, args)
    least = best.topk(k, dim=1).values[:, -1].contiguous() if columns >= k else torch.zeros_like(scores[:, 0])
    for args, (part, cuts) in zip(given, pairs, strict=True):
        kernels.collect(n, cuts.n_blocks, [*args, least, part.first, room, count, ids, scores])
    ids, order = ids.sort(dim=1)
    scores, order = scores.gather(1, order).sort(dim=1, descending=True, stable=True)
    ids = ids.gather(1, order)[:, :k].to(torch.int64)
    unsettled = torch.nonzero(count > room)[:, 0]
    return Found(ids.cpu().numpy(), scores[:, :k].cpu().numpy(), unsettled.cpu().numpy())


def _buckets(blocks: int, k: int, block_docs: int) -> int:
    """Of a block: a power of two, so many that the k-th best bucket is not far below the k-th best document."""
    buckets = 1
    while blocks * buckets < max(4 * k, 1024) and buckets < min(MOST_BUCKETS, block_docs):
        buckets *= 2
    return buckets
