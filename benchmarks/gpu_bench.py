"""What the measurements on a GPU share: the device and its clock, and texts to encode."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.gpu_texts import read
from zipfian.device import checked_device, load_torch, torch_device


class Bench:
    """The device, how large and how often, and the clock."""

    def __init__(self, device: str, quick: bool, rounds: int) -> None:
        self.torch = load_torch("measuring a GPU")
        self.device = checked_device(device)
        self.where = torch_device(self.device)
        self.quick = quick
        self.rounds = rounds

    def sized(self, full: int, small: int) -> int:
        """A size, or the one of a rehearsal."""
        return small if self.quick else full

    def idle(self) -> None:
        """Wait until the device has nothing left to do."""
        if self.where.type == "cuda":
            self.torch.cuda.synchronize(self.where)

    def seconds(self, work: Callable[[], object]) -> float:
        """The median time of a piece of work, after one that does not count."""
        return statistics.median([self.once(work) for _ in range(self.rounds + 1)][1:])

    def once(self, work: Callable[[], object]) -> float:
        """The time of a piece of work, with the device idle before and after."""
        self.idle()
        start = time.perf_counter()
        work()
        self.idle()
        return time.perf_counter() - start

    def memory(self) -> int | None:
        """The most bytes that were held on the device since the last call."""
        if self.where.type != "cuda":
            return None
        most = int(self.torch.cuda.max_memory_allocated(self.where))
        self.torch.cuda.reset_peak_memory_stats(self.where)
        return most


def lines(path: Path, most: int) -> list[str]:
    """The texts of a file."""
    out: list[str] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if len(out) == most:
                break
            out.append(json.loads(line)["text"] if line.startswith("{") else line.strip())
    return out


def some_texts(path: Path | None, n: int, words: int) -> list[str]:
    """Texts of about so many pieces: of a folder that `gpu_texts` made, of a file whatever their length, or made up."""
    if path is None:
        return made_up(n, words)
    return read(path, "short" if words < LONG else "long", n) if path.is_dir() else lines(path, n)


def made_up(n: int, words: int) -> list[str]:
    """Texts of common words, of about so many pieces, the same on every run."""
    rng = np.random.default_rng(words)
    known = np.array(WORDS.split())
    sizes = np.maximum(3, rng.normal(words, words / 4, n)).astype(int)
    return [" ".join(rng.choice(known, size)) for size in sizes]


LONG = 100
"""Pieces from which on a text is a long one."""

WORDS = (
    "the of and a in to is was it for with as on be at by this had not are but from or have an they which one you were "
    "all there would their we been has when who will no more if out so up said what its about than into them can only "
    "other time new some could these two may first then do any like now over such even most made after also did many "
    "before must well back through years much where way down should because long each just state those people too how "
    "river stone light engine paper garden winter signal copper bridge market summer protein neural index query metal"
)
