"""A copy of the sources in which one mistake at a time is made, and the tests that are run on it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutation import PACKAGE, DoesNotApply, Mutation
from zipfian.compiled.folder import OVERRIDE, root

COPIED = ("src", "tests", "pyproject.toml")
PASSED, FAILED = 0, 1
"""Exit codes of pytest."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutation: caught, survived, timed out, broken or does not apply."""

    name: str
    result: str
    by: str = ""
    """The first test that failed, or what else happened."""
    seconds: float = 0.0


class Tree:
    """The copy. Its kernels are compiled into a cache of its own: nothing of a mutant reaches the real one.

    Inside that cache a mutated kernel has a folder of its own too, since the folder's name is a hash of the kernels'
    sources (`zipfian.compiled.folder`), so it is compiled anew and never meets the sound one.
    """

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder = folder
        skip = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            here, there = checkout / name, folder / name
            if here.is_dir():
                shutil.copytree(here, there, ignore=skip, symlinks=True)
            else:
                shutil.copy2(here, there)
        cache = folder / "cache"
        cache.mkdir(mode=0o700)
        if (weights := root() / "weights").is_dir():
            (cache / "weights").symlink_to(weights)
        self._made = 0
        self._passed: set[str] = set()
        self._environment = {
            **os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONPYCACHEPREFIX": str(cache / "bytecode"),
            OVERRIDE: str(cache), "CI": "1",
        }  # fmt: skip
        self._check()

    def _check(self) -> None:
        """An installed package before the copy on the path would make every mutant survive."""
        command = [sys.executable, "-c", "import zipfian; print(zipfian.__file__)"]
        found = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=True
        )
        if Path(found.stdout.strip()) != self.folder / PACKAGE / "__init__.py":
            raise RuntimeError(f"the copy's tests would import {found.stdout.strip()}, not the copy in {self.folder}")

    def pytest(self, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """The exit code (None: not done in time) and what was printed."""
        command = [sys.executable, "-m", "pytest", *tests, "-x", "-q", "--no-header", "--tb=short", "-rfE"]
        process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider"], cwd=self.folder, env=self._environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=seconds)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """The mistake is there inside, and gone again afterwards."""
        path = self.folder / PACKAGE / mutation.file
        before, times = path.read_text(), path.stat()
        path.write_text(mutation.applied(before))
        # Python and numba know a source by its time and size. Every mutant gets a time of its own, so that no byte code
        # of another is taken for its; the sound source gets its own back, and its kernels are not compiled again.
        self._made += 1
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + self._made * 10**9))
        try:
            yield
        finally:
            path.write_text(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def sound(self, tests: Sequence[str], seconds: float) -> str:
        """What is wrong with these tests on sound sources, where a failure would say nothing about a mutant."""
        left = [test for test in tests if test not in self._passed]
        code, out = self.pytest(left, seconds) if left else (PASSED, "")
        if code == PASSED:
            self._passed |= set(left)
            return ""
        return f"on sound sources: {out[-600:] or f'not done after {seconds:.0f} s'}"

    def run(self, mutation: Mutation, seconds: float) -> Result:
        """Make the mistake and see whether its tests fail, which pass without it."""
        if problem := self.sound(mutation.tests, seconds):
            return Result(mutation.name, "broken", problem)
        began = time.monotonic()
        try:
            with self.mutated(mutation):
                code, out = self.pytest(mutation.tests, seconds)
        except DoesNotApply as problem:
            return Result(mutation.name, "does not apply", str(problem))
        took = round(time.monotonic() - began, 1)
        if code is None:
            return Result(mutation.name, "timed out", f"not done after {seconds:.0f} s", took)
        if code == PASSED:
            return Result(mutation.name, "survived", "", took)
        failed = re.search(r"^FAILED (\S+)", out, re.MULTILINE)
        if code == FAILED and failed:
            return Result(mutation.name, "caught", failed[1], took)
        return Result(mutation.name, "broken", out[-600:], took)
