"""What the service has done, in numbers: counters and histograms in Prometheus' text format."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zipfian.collection import Results
from zipfian.serve.capacity import Capacity
from zipfian.serve.shelf import Shelf

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DEPTHS = (0, 10, 20, 50, 100, 200, 500, 1000)
MARGINS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """Counts of values up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Labels) -> Iterator[str]:
        """As Prometheus reads them: each bucket counts all up to its bound."""
        below = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            below += count
            yield f"{name}_bucket{_written((*labels, ('le', bound)))} {below}"
        yield f"{name}_sum{_written(labels)} {self.total:.9g}"
        yield f"{name}_count{_written(labels)} {below}"


class Metrics:
    """Numbers of one service; any thread may add to them. Labels come from the service, never from a request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, Labels], int] = {}
        self._histograms: dict[tuple[str, Labels], Histogram] = {}

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request and its answer."""
        with self._lock:
            self._count("zipfian_requests_total", (("route", route), ("method", method), ("status", str(status))))
            self._add("zipfian_request_seconds", (("route", route),), SECONDS, seconds)

    def searched(self, collection: str, found: Results) -> None:
        """A search: what its stages took, and what was chosen."""
        named = (("collection", collection),)
        chosen: Mapping[str, Any] = found.settings.get("adaptive_k") or {}
        with self._lock:
            for stage in ("encode", "prepare", "filter", "search"):
                seconds = found.timings.get(stage, 0.0)
                self._add("zipfian_search_stage_seconds", (*named, ("stage", stage)), SECONDS, seconds)
            self._count("zipfian_searches_total", (*named, ("cached", str("repeated" in found.settings).lower())))
            depth, margin = found.settings.get("K"), chosen.get("margin")
            if isinstance(depth, int):
                self._add("zipfian_rerank_depth", named, DEPTHS, depth)
            if isinstance(margin, int | float):
                self._add("zipfian_margin", named, MARGINS, float(margin))

    def _count(self, name: str, labels: Labels) -> None:
        self._counters[name, labels] = self._counters.get((name, labels), 0) + 1

    def _add(self, name: str, labels: Labels, bounds: tuple[float, ...], value: float) -> None:
        found = self._histograms.get((name, labels))
        if found is None:
            found = self._histograms[name, labels] = Histogram(bounds)
        found.add(value)

    def render(self, shelf: Shelf, capacity: Capacity) -> str:
        """Everything as text."""
        with self._lock:
            lines = [*_counters(self._counters), *_histograms(self._histograms)]
        lines += _gauges(
            {
                "zipfian_requests_working": capacity.working,
                "zipfian_requests_waiting": capacity.waiting,
                "zipfian_requests_workers": capacity.workers,
            }
        )
        lines += ["# TYPE zipfian_requests_turned_away_total counter"]
        lines += [f"zipfian_requests_turned_away_total {capacity.turned_away}"]
        lines += ["# TYPE zipfian_generation gauge"]
        lines += [
            f"zipfian_generation{_written((('collection', one.name),))} {one.collection.generation}" for one in shelf
        ]
        return "\n".join(lines) + "\n"


def _counters(found: Mapping[tuple[str, Labels], int]) -> Iterator[str]:
    last = ""
    for (name, labels), value in sorted(found.items()):
        if name != last:
            yield f"# TYPE {name} counter"
            last = name
        yield f"{name}{_written(labels)} {value}"


def _histograms(found: Mapping[tuple[str, Labels], Histogram]) -> Iterator[str]:
    last = ""
    for (name, labels), histogram in sorted(found.items(), key=lambda entry: entry[0]):
        if name != last:
            yield f"# TYPE {name} histogram"
            last = name
        yield from histogram.lines(name, labels)


def _gauges(values: Mapping[str, int]) -> Iterator[str]:
    for name, value in values.items():
        yield f"# TYPE {name} gauge"
        yield f"{name} {value}"


def _written(labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
