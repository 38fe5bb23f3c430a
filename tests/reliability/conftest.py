"""Counts are part of these tests' result, so they are printed even when the tests pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Report = Callable[[str], None]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Print a line past pytest's capturing."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}")

    return say
