"""The JSON of `search` and `inspect`, whose keys programs rely on: they stay as they were before fields had that name.

A field is a `leg` there, and a metadata column a `field`. Only these two commands print such keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEYS = {"field": "leg", "fields": "legs"}


def search_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`Results.settings` as `search --json` prints it; below the first level only what each field was asked."""
    out = _renamed(settings)
    if isinstance(out.get("legs"), Mapping):
        out["legs"] = {name: _renamed(asked) for name, asked in out["legs"].items()}
    return out


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {_KEYS.get(key, key): value for key, value in settings.items()}


def collection_stats(stats: Mapping[str, Any]) -> dict[str, Any]:
    """`Collection.stats()` as `inspect --json` prints it."""
    out = {"legs" if key == "fields" else "fields" if key == "columns" else key: value for key, value in stats.items()}
    if "files" in out:
        out["files"] = {role.replace("field:", "leg:", 1): size for role, size in out["files"].items()}
    return out
