"""Models that the user has named to make a collection with: the command line may load them again without `--trust`.

A collection names its models, and that alone is no permission. Whoever typed `index --encoder NAME` has given it, so
the name is kept in a file of the user's own beside the caches. Python asks nobody: `Collection.open(trust=...)` it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from zipfian.compiled.folder import root
from zipfian.limits import MAX_CONFIG_BYTES
from zipfian.storage.replace import replacing

FILE = "allowed-models"


def path() -> Path:
    """Where the names are kept, one on a line; who deletes it is asked for `--trust` again."""
    return root() / FILE


def names() -> list[str]:
    """What was named before; nothing where the file is not the user's alone."""
    try:
        with open(path(), encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            ours = sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
            if not ours or found.st_size > MAX_CONFIG_BYTES:
                return []
            return [line for line in file.read().splitlines() if line]
    except (OSError, UnicodeDecodeError):
        return []


def remember(new: Iterable[str]) -> None:
    """Keep some names for later commands."""
    known = names()
    wanted = [*dict.fromkeys([*known, *(name for name in new if name.isprintable())])]
    if wanted != known:
        with replacing(path()) as file:
            file.write("".join(f"{name}\n" for name in wanted).encode())
