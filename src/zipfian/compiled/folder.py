"""Where compiled kernels are kept between processes: a folder that only this user can write to.

numba's cache files are pickles, so whoever can write them can run code in every later search. They therefore never lie
beside the sources or in a shared place. A folder that is not ours alone, or that lies where somebody else could swap it
for another, is refused: kernels are then compiled anew in every process, and a warning says why. The folder's name is a
hash of all that the machine code depends on: numba itself looks at one source file only, and would keep a kernel whose
callee in another file has changed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

OVERRIDE = "ZIPFIAN_CACHE_DIR"
"""Environment variable naming another root for zipfian's caches."""

_IGNORED = frozenset({"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DEBUG_CACHE", "NUMBA_THREADING_LAYER"})


class Unusable(Exception):
    """No private folder for compiled kernels; the message says why."""


def root() -> Path:
    """The user's cache folder for zipfian."""
    chosen = os.environ.get(OVERRIDE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else _home() / "AppData" / "Local") / "zipfian" / "cache"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else _home() / ".cache") / "zipfian"


def fingerprint(sources: Iterable[Path], versions: Iterable[str]) -> str:
    """A hash of everything machine code depends on: sources, versions, processor, numba's own settings."""
    settings = (f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("NUMBA_") and k not in _IGNORED)
    known = hashlib.blake2b(digest_size=16)
    for text in (*versions, sys.version, sys.platform, *settings):
        known.update(text.encode() + b"\0")
    try:
        for path in sorted(sources):
            known.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except OSError as error:
        raise Unusable(f"the kernel sources cannot be read ({error})") from error
    return known.hexdigest()


def prepare(name: str) -> Path:
    """Make, check and return the private folder `name`; `Unusable` where there can be none."""
    try:
        top = root().absolute()
        _check_links(top)
        _make_private(top)
        top = top.resolve(strict=True)  # what is checked is what is used
        _check_chain(top)
        kernels = top / "kernels"
        for path in (kernels, kernels / name):
            path.mkdir(mode=0o700, exist_ok=True)
            _check_private(path)
        tempfile.TemporaryFile(dir=kernels / name).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder, or links in a circle
        raise Unusable(str(error)) from error
    return kernels / name


def _home() -> Path:
    return Path.home()


def _make_private(path: Path) -> None:
    """Create a folder and all that is missing above it, each for this user alone: `parents=True` would not."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def _check_links(path: Path) -> None:
    """A symbolic link on the way must be ours or root's, or its owner could lead us elsewhere tomorrow."""
    for link in (path, *path.parents):
        if sys.platform != "win32" and link.is_symlink() and link.lstat().st_uid not in (0, os.geteuid()):
            raise Unusable(f"{link} is a symbolic link of another user")


def _check_chain(path: Path) -> None:
    """Nobody else may swap a folder on the way from the root to `path`, which holds no symbolic link any more.

    Each belongs to us or to root, and nobody else may write to it, unless it is sticky as /tmp is: then others can add
    entries, and neither remove nor rename those of ours.
    """
    if sys.platform == "win32":
        return  # profiles are private by their access lists
    for folder in (path, *path.parents):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise Unusable(f"{folder} is not a folder")
        if found.st_uid not in (0, os.geteuid()):
            raise Unusable(f"{folder} belongs to another user")
        if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
            raise Unusable(f"{folder} can be written by other users; run: chmod go-w {folder}")


def _check_private(path: Path) -> None:
    """A real folder, ours, that nobody else may write to."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise Unusable(f"{path} is a symbolic link; kernels are kept in a real folder")
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable(f"{path} is not a folder")
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise Unusable(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise Unusable(f"{path} can be written by other users; run: chmod 700 {path}")
