"""What a person or a program reads: tables, JSON, colour and progress.

Results go to standard output, everything else to standard error. Colour and bars appear only on a terminal, so piping
a command gives plain text; a log file gets a line of progress now and then.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeVar

from zipfian.cli._terminal import BOLD, DIM, MATCH, escaped, is_terminal, printable, unguarded
from zipfian.objects import plain

T = TypeVar("T")

__all__ = [
    "BOLD", "DIM", "MATCH", "Progress", "human_bytes", "human_seconds", "is_terminal", "note", "paint",
    "plain", "print_json", "printable", "table", "wants_colour", "warnings_as_notes", "width",
]  # fmt: skip

PROGRESS_DELAY_S = 2.0
"""A job that is done sooner shows no bar."""
PROGRESS_EVERY_S = 0.1
LINES_EVERY_S = 10.0
"""Where no bar can be drawn, a line says so often how far it is."""
RATE_WINDOW_S = 30.0
"""The rate is that of the last half minute: what was skipped quickly at first says nothing about the rest."""
BAR_CELLS = 24


def wants_colour(stream: TextIO) -> bool:
    """Colour needs a terminal that can show it and a user who did not refuse it (NO_COLOR)."""
    return is_terminal(stream) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, code: str, stream: TextIO | None = None) -> str:
    """`text` in an ANSI style, or unchanged where there is no colour."""
    return f"\x1b[{code}m{text}\x1b[0m" if wants_colour(sys.stdout if stream is None else stream) else text


def width(stream: TextIO | None = None) -> int:
    """Columns to fill: the terminal's, at most 120; 100 where there is none, so that logs and tests are stable."""
    if not is_terminal(sys.stdout if stream is None else stream):
        return 100
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    """Columns padded to their widest cell, two spaces apart; the columns in `right` are aligned to the right."""
    cells = [list(headers), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    to_right = set(right)
    lines = [
        "  ".join(c.rjust(w) if i in to_right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    lines = [line.rstrip() for line in lines]
    return "\n".join([paint(lines[0], DIM), *lines[1:]])


def print_json(value: object) -> None:
    """One JSON document on standard output; what could steer a terminal is escaped, the value is the same."""
    print(escaped(json.dumps(plain(value), ensure_ascii=False, indent=2)))


def note(message: str) -> None:
    """A remark for the person at the keyboard, on standard error."""
    print(message, file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings of the library become plain remarks, each once; what Python adds to them helps no user."""
    said: set[str] = set()

    def say(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            note(f"warning: {printable(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = say
        yield


def human_bytes(n: float) -> str:
    """1536 as '1.5 KiB'."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "bytes" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def human_seconds(s: float) -> str:
    """A duration with the digits that matter: microseconds to hours."""
    if s < 1e-3:
        return f"{s * 1e6:.0f} us"
    if s < 1:
        return f"{s * 1e3:.1f} ms"
    if s < 120:
        return f"{s:.1f} s"
    minutes, seconds = divmod(round(s), 60)
    return f"{minutes} min {seconds:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Progress:
    """A bar on standard error, after two seconds, gone when the job is done; a line every ten where no terminal is."""

    def __init__(
        self,
        label: str,
        total: int | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label = label
        self.total = total
        self.done = 0
        self._stream = unguarded(sys.stderr) if stream is None else stream
        self._clock = clock
        self._start = clock()
        self._bar = is_terminal(self._stream)
        self._next = self._start + (PROGRESS_DELAY_S if self._bar else LINES_EVERY_S)
        self._drawn = False
        self._marks: deque[tuple[float, int]] = deque([(self._start, 0)])

    def step(self, n: int = 1) -> None:
        """Count `n` more items and redraw if it is time to."""
        self.done += n
        now = self._clock()
        if now >= self._next:
            self._next = now + (PROGRESS_EVERY_S if self._bar else LINES_EVERY_S)
            self._marks.append((now, self.done))
            while len(self._marks) > 2 and now - self._marks[1][0] >= RATE_WINDOW_S:
                self._marks.popleft()
            self._draw(now)

    def reach(self, done: int) -> None:
        """As `step`, with the number of items done so far."""
        self.step(done - self.done)

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Pass `items` through, counting them; the bar goes away at the end, also after an error."""
        with self:
            for item in items:
                yield item
                self.step()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the bar from the screen; the next step may draw it again."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _draw(self, now: float) -> None:
        since, before = self._marks[0]
        rate = (self.done - before) / (now - since) if now > since else 0.0
        if self.total:
            share = min(1.0, self.done / self.total)
            filled = int(share * BAR_CELLS)
            left = human_seconds((self.total - self.done) / rate) if rate and self.done < self.total else "0 s"
            drawn = f"[{'#' * filled}{'.' * (BAR_CELLS - filled)}] " if self._bar else ""
            bar = f"{drawn}{self.done:,}/{self.total:,}, {left} left"
        else:
            bar = f"{self.done:,}"
        line = f"{self.label} {bar}, {rate:,.{0 if rate >= 10 else 1}f}/s"
        self._stream.write("\r\x1b[K" + line[: width(self._stream) - 1] if self._bar else line + "\n")
        self._stream.flush()
        self._drawn = self._bar
