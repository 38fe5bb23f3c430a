"""Which files open snapshots of this process still use, so that the writer's clean-up leaves them alone.

Other processes need no entry here: they map all files of a snapshot when they open it, and a mapping outlives the name.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable

_lock = threading.RLock()  # re-entrant: a snapshot's finaliser may run while this thread is in here
_files: dict[Hashable, Counter[str]] = {}


def hold(key: Hashable, names: Iterable[str]) -> Callable[[], None]:
    """Keep files of the directory `key`; returns the function that lets go of them, once."""
    mine = tuple(names)
    with _lock:
        _files.setdefault(key, Counter()).update(mine)
    open_once = [True]

    def release() -> None:
        with _lock:
            if open_once and open_once.pop():
                left = _files[key]
                left.subtract(mine)
                _files[key] = +left
                if not _files[key]:
                    del _files[key]

    return release


def held(key: Hashable) -> frozenset[str]:
    """Names in use."""
    with _lock:
        return frozenset(_files.get(key, ()))
