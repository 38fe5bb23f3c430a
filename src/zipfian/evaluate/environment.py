"""Where and with what a result was made: saved with every one, so that it can be made again."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from zipfian._version import __version__
from zipfian.encode.session import available_threads

PACKAGES = ("numpy", "numba", "PyStemmer", "onnxruntime", "tokenizers", "safetensors", "ir-measures", "faiss-cpu",
            "torch", "pillow")  # fmt: skip


def environment() -> dict[str, Any]:
    """Versions, processor and cores; no host name, no user, no paths."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "zipfian": __version__,
        "python": platform.python_version(),
        "packages": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": available_threads(),
        "byteorder": sys.byteorder,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
