"""Memory for decoded lists, by what the machine has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from zipfian.retrieve import budget

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _ask_again() -> Iterator[None]:
    budget.default_budget.cache_clear()
    yield
    budget.default_budget.cache_clear()


@pytest.mark.parametrize(
    ("physical", "group", "expected"),
    [
        (2, "max", GIB // 2),  # never less than half a GiB
        (8, "max", GIB),
        (16, "max", 2 * GIB),
        (512, "max", 2 * GIB),  # nor more than two
        (64, str(8 * GIB), GIB),  # what a container may use
        (8, str(64 * GIB), GIB),
        (8, "", GIB),
        (8, "no number", GIB),
        (None, str(12 * GIB), 3 * GIB // 2),
        (None, None, GIB // 2),
    ],
)
def test_an_eighth_of_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, physical: int | None, group: str | None, expected: int
) -> None:
    def sysconf(name: str) -> int:
        if physical is None:
            raise ValueError("unrecognized configuration name")
        return 4096 if name == "SC_PAGE_SIZE" else physical * GIB // 4096

    monkeypatch.setattr(os, "sysconf", sysconf)
    file = tmp_path / "memory.max"
    if group is not None:
        file.write_text(group + "\n")
    monkeypatch.setattr(budget, "_GROUP", file)
    assert budget.default_budget() == expected


def test_a_group_file_of_odd_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_bytes(b"\xff\xfe")
    monkeypatch.setattr(budget, "_GROUP", tmp_path / "memory.max")
    assert budget.memory() == budget._physical()


def test_this_machine_says_something() -> None:
    assert (1 << 29) <= budget.default_budget() <= (1 << 31)
