from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Command
from zipfian._version import __version__
from zipfian.cli import COMMANDS, main
from zipfian.errors import IndexCorrupt


def test_help_lists_every_command(zipfian: Command) -> None:
    code, out, _ = zipfian("--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)


def test_version(zipfian: Command) -> None:
    assert zipfian("--version") == (0, f"zipfian {__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, zipfian: Command) -> None:
    code, out, _ = zipfian(name, "--help")
    assert code == 0
    assert f"zipfian {name}" in out
    assert callable(importlib.import_module(f"zipfian.cli.{name}").run)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["search"], ["search", "p", "q", "-k", "0"], ["index", "."]])
def test_wrong_usage_is_2(arguments: list[str], zipfian: Command) -> None:
    code, out, err = zipfian(*arguments)
    assert code == 2
    assert out == ""
    assert "usage: zipfian" in err


@pytest.mark.parametrize("where", ["{", "[1]", "en", "=en"])
def test_a_filter_that_is_none_is_wrong_usage(where: str, zipfian: Command) -> None:
    code, _, err = zipfian("search", "p", "q", "--where", where)
    assert code == 2
    assert "--where" in err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (IndexCorrupt("a.field", "is short"), 1, "zipfian: a.field: is short. The collection"),
        (FileNotFoundError(2, "No such file", "x.txt"), 1, "zipfian: x.txt: No such file\n"),
        (OSError("odd"), 1, "zipfian: odd\n"),
        (KeyboardInterrupt(), 130, "zipfian: interrupted\n"),
    ],
)
def test_an_error_is_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(importlib.import_module("zipfian.cli.check"), "run", fail)
    assert main(["check", "p"]) == code
    err = capsys.readouterr().err
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise KeyError("bug")

    monkeypatch.setattr(importlib.import_module("zipfian.cli.check"), "run", fail)
    with pytest.raises(KeyError):
        main(["check", "p"])


def test_python_m_zipfian() -> None:
    done = subprocess.run([sys.executable, "-m", "zipfian", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"zipfian {__version__}\n"


def test_a_reader_that_goes_away_leaves_no_traceback() -> None:
    script = (
        "import sys\nfrom zipfian import cli\nfrom zipfian.cli import check\n"
        "def many(_):\n    for i in range(100_000): print(i)\n    return 0\n"
        "check.run = many\nsys.exit(cli.main(['check', 'p']))"
    )
    read, write = os.pipe()
    with subprocess.Popen([sys.executable, "-c", script], stdout=write, stderr=subprocess.PIPE, text=True) as child:
        os.close(write)
        os.read(read, 10)
        os.close(read)
        _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (1, "")
