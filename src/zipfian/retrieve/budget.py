"""How much memory decoded lists may take where nobody says: by what the machine has."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

LEAST, MOST = 1 << 29, 1 << 31
SHARE = 8
"""One part in so many of the memory, for each field of a collection."""

_GROUP = Path("/sys/fs/cgroup/memory.max")
"""What a container may use, where Linux says so."""


@cache
def default_budget() -> int:
    """Bytes of decoded lists for each field: an eighth of the memory, from 512 MiB to 2 GiB."""
    return max(LEAST, min(MOST, (memory() or 0) // SHARE))


def memory() -> int | None:
    """Bytes of memory that this process can have; None where the system does not say."""
    found = [_physical(), _of_group()]
    return min((n for n in found if n is not None), default=None)


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows; a system without the name; one that will not say
        return None


def _of_group() -> int | None:
    try:
        text = _GROUP.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None  # "max": no limit
