"""Run an ONNX model with onnxruntime, one batch per thread.

Each batch runs on one thread and different batches run side by side. Splitting one batch over threads instead costs
synchronisation at every operator and makes sums depend on the number of threads; this way results do not.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, MissingExtra

Job = TypeVar("Job")
Result = TypeVar("Result")

Array = npt.NDArray[Any]


def available_threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """`threads`, or all there are."""
    if threads is None:
        return available_threads()
    if threads < 1:
        raise InvalidInput(f"threads must be at least 1, not {threads}")
    return threads


class Session:
    """A loaded model; `run` may be called from several threads at once."""

    def __init__(self, model: bytes, extra: str, *, fuse: bool = True) -> None:
        """Load a model; without `fuse` its operators stay as they are, but for what is computed once."""
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtra("running an encoder", extra) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if fuse else levels.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Array]) -> list[npt.NDArray[np.float32]]:
        """The named outputs for one batch."""
        result: list[npt.NDArray[np.float32]] = self._session.run(list(outputs), dict(inputs))
        return result


TURN_S = 0.0005
"""How long one thread keeps Python to itself while others wait. Each of the hundred steps of a pass on a GPU lets go of
it for an instant, in which a thread that reads or writes may take it, and keep it for the usual 5 ms while the GPU has
nothing to do. A pass of nearly no work beside a busy thread took 6 ms with that, 3.6 ms with this, alone 1.3 ms."""


class _QuickTurns:
    """The setting is the whole process's: the first who wants it changes it, the last one who leaves puts it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, TURN_S))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._before)


_quick_turns = _QuickTurns()


def side_by_side(work: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """`work` done on each job, in whatever order they finish; at most two jobs a thread wait at any time."""
    if threads == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="zipfian") as pool:
        waiting: set[Future[Result]] = set()
        try:
            for job in jobs:
                waiting.add(pool.submit(work, job))
                if len(waiting) >= 2 * threads:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in waiting:
                future.cancel()


def in_order(
    work: Callable[[Job], Result], jobs: Iterable[Job], threads: int, ahead: int | None = None
) -> Generator[Result, None, None]:
    """`work` done on each job, in the order of the jobs: while one result is used, the next ones are being made.

    No more than `ahead` jobs, by default `threads`, are begun and not yet handed over, so memory stays bounded. After
    an error no further job begins, and those under way come to their end before it is raised.
    """
    with _quick_turns, ThreadPoolExecutor(threads, thread_name_prefix="zipfian") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                waiting.append(pool.submit(work, job))
                if len(waiting) >= (threads if ahead is None else ahead):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
