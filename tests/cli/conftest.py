from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable

import pytest

from tests.cli import fake
from zipfian.cli import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=["in memory", "real"])
def collections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are tested twice: on a collection in memory, which shows what they ask for, and on the real one."""
    if request.param == "real":
        if importlib.util.find_spec("zipfian.collection") is None:
            pytest.skip("zipfian.collection is not part of this checkout")
        return
    module = types.ModuleType("zipfian.collection")
    module.Collection = fake.Collection  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "zipfian.collection", module)


@pytest.fixture
def zipfian(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; gives its exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
