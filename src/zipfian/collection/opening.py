"""What a caller gives to open or create a collection, checked: an address or a folder, a cache, budgets."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput, shown
from zipfian.storage.directory import FSDirectory

ENGINES = {"opensearch": "zipfian.engines.opensearch", "opensearchs": "zipfian.engines.opensearch"}
"""Engines by the scheme of their addresses; a module has `create` and `open`, which give the verbs of `Collection`.
By name only: this stage knows nothing of theirs."""


def engine_of(path: Any, settings: Mapping[str, Any]) -> Any:
    """The module of the engine that an address names, None for a folder."""
    scheme, found, _ = path.partition("://") if isinstance(path, str) else ("", "", "")
    if not found:
        if settings:
            raise InvalidInput(f"unknown setting {next(iter(settings))!r} of a collection in a folder")
        return None
    if scheme not in ENGINES:
        known = ", ".join(f"{scheme}://" for scheme in ENGINES)
        raise InvalidInput(f"{shown(path)} names no engine that is known; one of {known}")
    return importlib.import_module(ENGINES[scheme])


def directory_of(path: Any) -> FSDirectory:
    """The folder of a collection."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InvalidInput(f"the path of a collection must be a string or a Path, not {shown(path)}")
    return FSDirectory(path)


def cache_of(given: EncodingCache | bool) -> EncodingCache | None:
    """Where results of encoders are kept; None: nowhere."""
    if isinstance(given, EncodingCache):
        return given
    if not isinstance(given, bool):
        raise InvalidInput(f"encodings must be an EncodingCache, True or False, not {shown(given)}")
    return EncodingCache() if given else None


def check_bytes(**budgets: Any) -> None:
    """Budgets of memory."""
    for name, value in budgets.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidInput(f"{name} must be a whole number of bytes, not {shown(value)}")
