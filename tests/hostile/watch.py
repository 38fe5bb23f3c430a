"""Runs cases in a process of their own and ends it when a case takes more memory or time than it may."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.case import MEMORY, PATIENCE, SECONDS, Case, Outcome

_ROOT = Path(__file__).resolve().parents[2]
_LOOK = 0.005
"""Seconds between two looks at the process's memory."""

_FORGING = 120.0
"""Seconds that making an attack may take."""


class Watched:
    """One worker process at a time; a new one after each that had to be ended."""

    def __init__(self, src: Path | None = None) -> None:
        self._src = src or _ROOT / "src"
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._scratch = tempfile.gettempdir()  # what a worker leaves behind when it is ended goes with this folder

    def run(self, cases: Iterable[Case]) -> Iterator[Outcome]:
        """What becomes of each case, in order."""
        with tempfile.TemporaryDirectory(prefix="zipfian-hostile-", ignore_cleanup_errors=True) as scratch:
            self._scratch = scratch
            try:
                for case in cases:
                    yield self._one(case)
            finally:
                self._end()

    def _one(self, case: Case) -> Outcome:
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(case.__dict__) + "\n")
        process.stdin.flush()
        baseline, began, worked, suffering, peak = 0, time.monotonic(), 0.0, False, 0
        while True:
            try:
                line = self._lines.get(timeout=_LOOK)
            except queue.Empty:
                line = ""
            used = max(_memory(process.pid, "VmHWM" if suffering else "VmRSS") - baseline, 0)
            if suffering:
                peak = max(peak, used)
            if line is None:
                code = process.wait()
                self._end()
                return Outcome(case, "crash", f"exit code {code}", time.monotonic() - began, peak / 1e6)
            if line:
                said: dict[str, Any] = json.loads(line)
                if said.get("begin") == "suffer":
                    _reset_peak(process.pid)
                    baseline, began, suffering = _memory(process.pid, "VmRSS"), time.monotonic(), True
                    worked = _processor_time(process.pid)
                elif "result" in said:
                    result = "memory" if peak > MEMORY else said["result"]
                    return Outcome(case, result, said["detail"], said.get("seconds", 0.0), peak / 1e6)
            seconds = time.monotonic() - began
            over = "memory" if suffering and peak > MEMORY else ""
            if suffering and (seconds > PATIENCE or _processor_time(process.pid) - worked > SECONDS):
                over = "hang"
            if not suffering and seconds > _FORGING:
                over = "forge"
            if over:
                self._end()
                return Outcome(case, over, "ended from outside", seconds, peak / 1e6)

    def _start(self) -> subprocess.Popen[str]:
        env = {
            **os.environ,
            "PYTHONPATH": f"{self._src}{os.pathsep}{_ROOT}",
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": self._scratch,
        }
        command = [sys.executable, "-m", "tests.hostile.worker"]
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        self._process, self._lines = process, lines
        return process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _memory(pid: int, which: str) -> int:
    """Bytes of memory of a process now (VmRSS) or at its highest (VmHWM)."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(which):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _processor_time(pid: int) -> float:
    """Seconds that all threads of a process have worked."""
    try:
        columns = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _reset_peak(pid: int) -> None:
    """Start VmHWM anew, so that a short peak between two looks still counts."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        pass
