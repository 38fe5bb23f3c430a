"""The commands of `docs/service.md`, run as they are written."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service.md"
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("bash"), reason="NO CURL TESTS: install curl and bash")
def test_the_commands_work_as_typed(tmp_path: Path) -> None:
    port = str(free_port())
    page = PAGE.read_text("utf-8").replace("zipfian serve notes.zf", f"zipfian serve notes.zf --port {port}")
    page = page.replace("8765", port).replace("zipfian index notes.jsonl", "zipfian index notes.jsonl --fields words")
    python = tmp_path / "ask.py"
    python.write_text("\n".join(PYTHON.findall(page)))
    commands = "\n".join(SHELL.findall(page))
    command = tmp_path / "zipfian"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zipfian "$@"\n')
    command.chmod(0o755)
    script = f"""
PATH="{tmp_path}:$PATH"
set -e
trap 'kill $(jobs -p); wait' EXIT
{commands}
"{sys.executable}" "{python}"
"""
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    decoder, at, answers = json.JSONDecoder(), done.stdout.index('{"status":"ready"'), []
    while done.stdout.startswith("{", at):
        answer, at = decoder.raw_decode(done.stdout, at)
        answers.append(answer)
    asked = commands.count("curl -s ") + 1
    assert len(answers) == asked
    assert [answer for answer in answers if "error" in answer] == []
    assert answers[1]["hits"][0]["id"] == "a"
    assert done.stdout[at:].startswith("a ")  # what the client printed
