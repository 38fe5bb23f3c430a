"""What a timing depends on besides the engine: processor, threads, versions, and how busy the machine is."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "BLIS", "VECLIB_MAXIMUM")


def one_thread() -> dict[str, str]:
    """Environment of a process whose libraries may use one thread each."""
    return {**os.environ, **{f"{name}_NUM_THREADS": "1" for name in THREADS}}


def pin(processor: int | None) -> None:
    """Keep this process, with all threads it starts from now on, on one processor (None: on any)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1) if processor is None else {processor})


def calibrate() -> float:
    """Milliseconds of a fixed task, the best of five: compare runs by it, and see whether the machine was busy."""
    values = np.random.default_rng(0).random(1_000_000)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.argpartition(values, 1000)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def peak_bytes() -> int:
    """The most memory that this process has had at once (`ru_maxrss` would count what its parent had, too)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak of a process in /proc/self/status")


def resident_bytes() -> int:
    """The memory that this process has now, files that are mapped included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def distribution_version(name: str) -> str:
    """The version of an installed package; '?' where there is none."""
    if name == "zipfian":
        from zipfian import __version__

        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def describe() -> dict[str, str | int]:
    """Processor, memory, system, Python and date."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "processors": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": distribution_version("numba"),
        "zipfian": distribution_version("zipfian"),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if sys.platform == "linux" and cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> int:
    if hasattr(os, "sysconf"):
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return 0
