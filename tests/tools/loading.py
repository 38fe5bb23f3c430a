"""The programs in `tools/`, which import each other by bare names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(*names: str) -> list[ModuleType]:
    """These modules, in order; the test is left out where the tools are not there."""
    if not TOOLS.is_dir():
        pytest.skip("the tools are not part of this package", allow_module_level=True)
    sys.path.insert(0, str(TOOLS))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(TOOLS))
