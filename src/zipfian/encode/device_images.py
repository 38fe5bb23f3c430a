"""Many pictures through a network on a GPU: threads decode and shrink them ahead of it, batches of them run there.

The vectors of patches are put into one matrix, which stays on the device, and one sum for each view of a picture comes
back for the pooled vectors. Nothing is read back before all batches of a group are under way. A picture's vectors
depend on its company only by rounding: by less than 1e-4 of their length in float32.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.device import Precision, from_host, no_room, running, torch_device
from zipfian.encode.base import Outcome
from zipfian.encode.efficientnet import CHANNELS
from zipfian.encode.images import ImageSource, Pixels
from zipfian.encode.on_device import Matrix, OnDevice
from zipfian.encode.session import in_order
from zipfian.encode.tiles import pooled
from zipfian.encode.torch_efficientnet import TorchEfficientNet
from zipfian.errors import DeviceMemory, InvalidInput, ZipfianError
from zipfian.types import IntArray

Look = Callable[[ImageSource], Pixels]
"""What the network sees of a picture: (views, size, size, 3)."""

BATCH_PIXELS = 1 << 23
"""Of a pass: 56 views of 384 x 384. Its widest map takes 0.8 GB in float32."""
GROUP_NUMBERS = 1 << 28
"""Components of patch vectors that lie on the device at a time: 1 GB of float32, 1,456 pictures of 144 patches."""


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What is asked of the network, and what a picture gives."""

    block: int | None
    """The block whose map is read; None: the last convolution."""
    size: int
    """Side of a view in pixels."""
    views: int
    """Of a picture."""
    grid: tuple[int, int]
    places: IntArray
    """(patches of a picture, 2)."""
    dim: int
    """Components of a patch vector."""


class DeviceImages:
    """A network on a device, ready to look at pictures; safe to share between threads, which take turns at the device.

    They decode at the same time: only the batches wait for each other.
    """

    def __init__(
        self, make: Callable[[Any, Precision], TorchEfficientNet], device: str, precision: Precision,
        settings: Settings, threads: int,
    ) -> None:  # fmt: skip
        self._make = make
        self._device = device
        self._precision: Precision = precision
        self._settings = settings
        self._threads = threads
        self.batch_views = max(1, BATCH_PIXELS // settings.size**2)
        """Of a pass; halved whenever the device has no room for so many."""
        self.fell_back = 0
        """Pictures that came out of half precision as no numbers, and were encoded in float32 instead."""
        self._networks: dict[Precision, TorchEfficientNet] = {}
        self._lock = threading.RLock()
        self._network(precision)

    def encode(self, items: Sequence[ImageSource], look: Look) -> Iterator[Outcome]:
        """The pictures in order; what is wrong with one stands in its place.

        The vectors of one group stay on the device; where there are several, they are fetched, so that a call takes no
        more of its memory than one group does.
        """
        settings = self._settings
        most = max(1, GROUP_NUMBERS // (len(settings.places) * settings.dim))
        for start in range(0, len(items), most):
            for outcome in self._group(items[start : start + most], look, self._precision):
                yield outcome.fetched() if len(items) > most and isinstance(outcome, OnDevice) else outcome

    def _group(self, items: Sequence[ImageSource], look: Look, precision: Precision) -> list[Outcome]:
        """One group; in halves where the device has no room for all of it."""
        with running(self._device) as torch:
            passed = None
            with contextlib.suppress(torch.OutOfMemoryError):
                passed = self._passed(torch, items, look, precision)
            if passed is None:
                torch.cuda.empty_cache()
        if passed is not None:
            return self._outcomes(items, look, *passed, precision)
        if len(items) == 1:
            raise DeviceMemory(self._device, "one picture", "use a smaller size, or device='cpu'")
        half = len(items) // 2
        return self._group(items[:half], look, precision) + self._group(items[half:], look, precision)

    def _passed(
        self, torch: Any, items: Sequence[ImageSource], look: Look, precision: Precision
    ) -> tuple[Any, npt.NDArray[np.float64], dict[int, ZipfianError | OSError]]:
        """Patches of the readable pictures, on the device; sums of their views, here; what was wrong with the others.

        Both have a row for each view, one picture's after the other's.
        """
        settings, network = self._settings, self._network(precision)
        views = len(items) * settings.views
        cells = len(settings.places) // settings.views
        rows = torch.empty((views, cells, settings.dim), dtype=network.dtype, device=network.device)
        sums = torch.empty((views, CHANNELS), dtype=torch.float32, device=network.device)
        problems: dict[int, ZipfianError | OSError] = {}
        waiting: list[Pixels] = []
        done = 0

        def read(item: ImageSource) -> Pixels | ZipfianError | OSError:
            try:
                return look(item)
            except (ZipfianError, OSError) as error:
                return error

        # The next batch is decoded while this one is handed to the device.
        ahead = self._threads + -(-self.batch_views // settings.views)
        with contextlib.closing(in_order(read, items, self._threads, ahead)) as stream:
            for number, seen in enumerate(stream):
                if isinstance(seen, np.ndarray):
                    waiting.extend(seen)
                else:
                    problems[number] = seen
                last = number == len(items) - 1
                while len(waiting) >= self.batch_views or (last and waiting):
                    passed = self._batch(torch, network, waiting, rows[done:], sums[done:])
                    done += passed
                    del waiting[:passed]
        # The only wait, with the device free for another thread's pictures.
        return rows[:done].flatten(0, 1), sums[:done].cpu().numpy().astype(np.float64), problems

    def _batch(self, torch: Any, network: TorchEfficientNet, waiting: Sequence[Pixels], rows: Any, sums: Any) -> int:
        """One pass over the first views that wait; how many went through."""
        with self._lock:
            while True:
                some = waiting[: self.batch_views]
                try:
                    pixels = from_host(np.stack(some), network.device).permute(0, 3, 1, 2)
                    rows[: len(some)], sums[: len(some)] = network.run(pixels, self._settings.block)
                except torch.OutOfMemoryError:
                    if len(some) == 1:
                        raise
                    self._halve(torch, len(some))
                    continue
                return len(some)

    def _outcomes(
        self, items: Sequence[ImageSource], look: Look, rows: Any, sums: npt.NDArray[np.float64],
        problems: Mapping[int, ZipfianError | OSError], precision: Precision,
    ) -> list[Outcome]:  # fmt: skip
        """The pictures, each with its part of the matrix."""
        settings, matrix = self._settings, Matrix(rows, self._device, precision)
        patches, pieces = len(settings.places), np.full(len(settings.places), -1, dtype=np.int32)
        by_picture = iter(sums.reshape(-1, settings.views, CHANNELS))
        out: list[Outcome] = []
        bad: list[int] = []
        first = 0
        for number in range(len(items)):
            if number in problems:
                out.append(problems[number])
                continue
            vector = pooled(next(by_picture))
            if vector is None:
                bad.append(number)
                out.append(InvalidInput("the encoder's output is not finite: the weights or the device are at fault"))
            else:
                own = slice(first, first + patches)
                out.append(OnDevice(matrix, own, None, settings.places, pieces, vector, settings.grid))
            first += patches
        if bad and precision != "float32":  # half precision cannot hold every number that float32 can
            with self._lock:
                self.fell_back += len(bad)
            again = self._group([items[number] for number in bad], look, "float32")
            for number, outcome in zip(bad, again, strict=True):
                out[number] = outcome
        return out

    def _network(self, precision: Precision) -> TorchEfficientNet:
        with self._lock:
            if precision not in self._networks:
                self._networks[precision] = self._make(torch_device(self._device), precision)
            return self._networks[precision]

    def _halve(self, torch: Any, tried: int) -> None:
        self.batch_views = max(1, min(self.batch_views, tried) // 2)
        no_room(torch, self._device, tried, "pictures", self.batch_views)
