"""Where tests that commit hundreds of times put their files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def quick_folder() -> Path:
    """A new folder on a file system in memory, where the machine has one: nobody waits for its fsync."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="zipfian-test-", dir=memory if usable else None))
