"""What the demo says and measures: for a person as it goes along, for a program as one JSON object at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zipfian.cli._output import BOLD, human_seconds, paint, print_json, table


class Report:
    """Prints as the demo goes along, or keeps quiet and remembers."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.data: dict[str, Any] = {"steps": []}
        self._rows: list[tuple[str, str]] = []

    def heading(self, text: str) -> None:
        """The start of a part."""
        self.say("\n" + paint("== " + text, BOLD))

    def say(self, text: str = "") -> None:
        """A line for the person who watches."""
        if not self.as_json:
            print(text, flush=True)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Times its block; a block that fails is not listed."""
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self.data["steps"].append({"step": step, "seconds": seconds})
        self._rows.append((step, human_seconds(seconds)))

    @property
    def last(self) -> str:
        """The time of the latest step."""
        return self._rows[-1][1]

    def close(self) -> None:
        """The table of times, or everything as JSON."""
        if self.as_json:
            print_json(self.data)
            return
        self.heading("What that took")
        print(table(("step", "time"), self._rows, right=(1,)))
