from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest

from zipfian.cli import _output
from zipfian.cli._output import Progress, human_bytes, human_seconds, paint, plain, printable, table
from zipfian.types import Explanation


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_table_aligns() -> None:
    assert table(("id", "n"), [("a", 5), ("long", 123)], right=(1,)) == "id      n\na       5\nlong  123"


def test_a_table_without_rows_is_its_header() -> None:
    assert table(("id", "n"), []) == "id  n"


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("x", _output.BOLD, io.StringIO()) == "x"
    assert paint("x", _output.BOLD, Terminal()) == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", _output.BOLD, Terminal()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert paint("x", _output.BOLD, Terminal()) == "x"


def test_a_line_of_progress_every_ten_seconds_in_a_log() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress("work", 10, stream, clock) as progress:
        for _ in range(5):
            clock.now += 4
            progress.step()
        assert stream.getvalue() == "work 3/10, 28.0 s left, 0.2/s\n", "12 s, and not yet 22"
        clock.now += 4
        progress.step()
    lines = stream.getvalue().splitlines()
    assert lines[1:] == ["work 6/10, 16.0 s left, 0.2/s"]
    quick = io.StringIO()
    with Progress("work", None, quick, clock) as progress:
        clock.now += 9.9
        progress.step()
    assert quick.getvalue() == ""


def test_progress_after_two_seconds_and_gone_at_the_end() -> None:
    stream, clock = Terminal(), Clock()
    with Progress("work", 10, stream, clock) as progress:
        clock.now += 1.9
        progress.step()
        assert stream.getvalue() == ""
        clock.now += 0.2
        progress.step()
        assert "work [####" in stream.getvalue()
        assert "2/10" in stream.getvalue()
        drawn = stream.getvalue()
        clock.now += 0.01
        progress.step()
        assert stream.getvalue() == drawn, "not redrawn at once"
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_passes_items_through_and_clears_after_an_error() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("work", None, stream, clock)
    seen = []
    with pytest.raises(RuntimeError):
        for item in progress.over(range(5)):
            clock.now += 3
            seen.append(item)
            if item == 2:
                raise RuntimeError
    assert seen == [0, 1, 2]
    progress.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


@dataclass
class Point:
    x: int
    when: date


def test_plain_makes_json_values_of_results() -> None:
    value = {
        "p": Point(1, date(2020, 1, 2)),
        "a": np.arange(2),
        "f": np.float32(0.5),
        "e": Explanation(1.0, "x"),
        "t": (1,),
    }
    assert plain(value) == {
        "p": {"x": 1, "when": "2020-01-02"},
        "a": [0, 1],
        "f": 0.5,
        "e": {"value": 1.0, "label": "x", "kind": "score"},
        "t": [1],
    }


def test_printable_disarms_terminal_codes() -> None:
    assert (
        printable("plain \u00e9 \u6f22 \U0001f469\u200d\U0001f52c") == "plain \u00e9 \u6f22 \U0001f469\u200d\U0001f52c"
    )
    assert printable("\x1b[2Jgone\x07\r\n") == "\ufffd[2Jgone\ufffd\ufffd\ufffd"
    assert printable("a\nb\x1b", keep="\n") == "a\nb\ufffd"
    assert printable("user\u202etxt.exe") == "user\ufffdtxt.exe"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5e-5, "50 us"), (0.0123, "12.3 ms"), (3.14159, "3.1 s"), (125, "2 min 05 s"), (7500, "2 h 05 min")],
)
def test_human_seconds(seconds: float, text: str) -> None:
    assert human_seconds(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 2**40, "5.0 TiB")]
)
def test_human_bytes(n: int, text: str) -> None:
    assert human_bytes(n) == text
