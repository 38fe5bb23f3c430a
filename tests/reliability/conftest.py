"""Counts are part of these tests' result, so they are shown at the end even when the tests pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import SAID

Report = Callable[[str], None]


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Report:
    """Shows a line at the end: a process among several has no terminal to print it to."""

    def say(line: str) -> None:
        record_property(SAID, line)

    return say
