"""Nothing that is read, typed or found on a disk reaches a terminal as anything but letters."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from zipfian.cli import main
from zipfian.cli._output import paint, print_json
from zipfian.cli._terminal import Guarded, escaped, guarded, printable

EVIL = "a\x1b[31mb\x1b]52;c;Zm9v\x07c\x9b2Jd\u202ee\u2066f\x00g\rh\x85i\u2028j\x7fk"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)])
def test_every_character_that_steers_is_replaced_or_escaped(code: int) -> None:
    sign = chr(code)
    assert printable(f"a{sign}b") == "a\ufffdb"
    written = escaped(json.dumps({"k": f"a{sign}b"}, ensure_ascii=False))
    assert not STEERING.search(written)
    assert json.loads(written) == {"k": f"a{sign}b"}


def test_letters_of_every_script_pass() -> None:
    text = "Grüße, שלום, مرحبا, 你好, \U0001f98a\u200d\U0001f5a5, e\u0301"
    stream = io.StringIO()
    Guarded(stream, "x").write(text + "\n")
    assert stream.getvalue() == text + "\n"
    assert escaped(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


def test_json_keeps_halves_of_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"id": "a\udc9bb"})
    assert json.loads(capsys.readouterr().out) == {"id": "a\udc9bb"}


def test_our_colours_pass_on_a_terminal_and_no_other_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    with guarded():
        print(paint("bold", "1") + "\x1b[8mhidden\x1b[2K\x1b[1A")
    assert screen.getvalue() == "\x1b[1mbold\x1b[0m\ufffd[8mhidden\ufffd[2K\ufffd[1A\n"


def test_no_colour_passes_into_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with guarded():
        print("\x1b[1mx")
    assert capsys.readouterr().out == "\ufffd[1mx\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", EVIL.replace("\x00", ""), "query"],
        ["index", EVIL.replace("\x00", ""), "--into", "x.zf"],
        ["check", EVIL.replace("\x00", "")],
        [EVIL],
        ["search", "p", "q", f"--{EVIL}"],
        ["search", "p", "q", "-k", EVIL],
        ["search", "p", "q", "--where", EVIL],
    ],
)
def test_errors_and_usage_are_clean(
    arguments: list[str], zipfian: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = zipfian(*arguments)
    assert code in (1, 2)
    assert err.strip()
    assert not STEERING.search(out + err), err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_names_of_files_are_clean_wherever_they_are_shown(options: list[str], tmp_path: Path, zipfian: Command) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    name = EVIL.replace("\x00", "") + ".txt"
    (folder / name).write_text("a fox " + EVIL.replace("\x00", ""))
    (folder / f"bad {name}").write_bytes(b"\xff")
    code, out, err = zipfian(
        "index", folder, "--into", tmp_path / "t.zf", "--fields", "words", "--on-bad", "skip", *options
    )
    assert code == 0
    shown = out + err
    for command in (["search", "fox"], ["search", "fox", "--highlight"], ["explain", "fox", name], ["inspect"]):
        code, out, err = zipfian(command[0], tmp_path / "t.zf", *command[1:], *options)
        assert code == 0, err
        shown += out + err
        if options and command == ["search", "fox"]:
            assert json.loads(out)["hits"][0]["id"] == name
    assert not STEERING.search(shown)


def test_what_is_exported_to_a_pipe_is_escaped_and_not_changed(tmp_path: Path, zipfian: Command) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": "a\x9bb\\c", "text": "fox"}) + "\n")
    assert zipfian("index", tmp_path / "t.jsonl", "--into", tmp_path / "t.zf", "--fields", "words")[0] == 0
    code, out, _ = zipfian("export", "surrogate", tmp_path / "t.zf")
    assert code == 0
    assert out.startswith("a\\u009bb\\\\c\t")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(("name", "shown"), [(None, "zipfian: p.zf: "), ("p.zf/a.field", "zipfian: p.zf/a.field: ")])
def test_a_full_disk_is_named_with_what_to_do(
    number: int, name: str | None, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise OSError(number, "No space left on device", name) if name else OSError(number, "No space left on device")

    monkeypatch.setattr(importlib.import_module("zipfian.cli.check"), "run", fail)
    assert main(["check", "p.zf"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(shown + "No space left on device: free some space")
    assert err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_standard_output_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "zipfian", "weights", "list"], stdout=full, stderr=-1, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("zipfian: standard output: No space left on device")
    assert done.stderr.count("\n") == 1
