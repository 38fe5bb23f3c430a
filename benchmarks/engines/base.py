"""What every engine offers to the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.workloads import Shape, Workload


class Unsuitable(Exception):
    """The engine cannot do this workload; the message says why."""


class Engine:
    """One engine on one workload. `scores` says which formula its ranking follows."""

    scores = "bm25, given tf"
    warm_up = 20
    """Queries before anything is timed; an engine compiled while it runs needs thousands."""

    def __init__(self, shape: Shape, folder: Path) -> None:
        self.shape = shape
        self.folder = folder

    def warm(self, workload: Workload) -> None:
        """Whatever must not count as building: compiling, starting a process."""

    def build(self, workload: Workload) -> None:
        """From CSR arrays to ready for queries."""
        raise NotImplementedError

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        """Document numbers, best first."""
        raise NotImplementedError

    def nbytes(self) -> int:
        """Size of the index: its arrays in memory, or its files."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and processes."""

    def folder_bytes(self) -> int:
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())


def whole(values: Any) -> tuple[Any, float]:
    """Weights as whole numbers and the scale that made them so: hundredths, unless they are whole already."""
    import numpy as np

    scale = 1.0 if np.array_equal(values, np.rint(values)) else 100.0
    return np.maximum(np.rint(values * scale), 1).astype(np.int64), scale
