"""Notices what a hostile file makes the program reach for: files set out as bait, the network, other packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from tests.hostile.case import WrongAnswer

FORBIDDEN = ("torch", "transformers", "huggingface_hub", "open_clip", "sentence_transformers")
"""Packages that only a model of the hub needs."""


OUTSIDE = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
"""What nobody does for a collection in a folder."""


class _Imports(MetaPathFinder):
    """Stands before all other finders: what is forbidden is noted, and not found."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if _watching and name.partition(".")[0] in FORBIDDEN:
            _seen.append(f"import {name}")
            raise ImportError(f"{name} is not for this test")


_watching: list[str] = []
"""Folders of bait; empty while nobody watches."""
_seen: list[str] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(tuple(_watching)):
            _seen.append(f"open {path}")
    elif event in OUTSIDE or (event == "pickle.find_class" and not _loads_kernels()):
        _seen.append(event)


def _loads_kernels() -> bool:
    """Whether numba reads a compiled kernel: another formula than those tried before needs one, and where they are kept
    only this user can write."""
    frame = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.endswith("numba/core/caching.py"):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


@contextmanager
def tripwire(*bait: Path) -> Iterator[None]:
    """`WrongAnswer` when something under `bait`, a package of the hub or the network was reached for, error or not."""
    if not any(isinstance(finder, _Imports) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Imports())
        sys.addaudithook(_hook)  # stays for good: it looks only while somebody watches
    _seen.clear()
    _watching[:] = ["/nowhere-at-all", *(os.path.realpath(folder) for folder in bait)]
    try:
        yield
    finally:
        _watching.clear()
        if _seen:
            raise WrongAnswer(f"reached for {', '.join(_seen[:3])}")
