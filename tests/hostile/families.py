"""Where the attacks are."""

from __future__ import annotations

import importlib
from typing import cast

from tests.hostile.case import Family

FAMILIES = ("sections", "manifests", "pictures", "inputs")
"""Names of the modules of this folder that are families."""


def family(name: str) -> Family:
    """A family by its name."""
    return cast(Family, importlib.import_module(f"tests.hostile.{name}"))
