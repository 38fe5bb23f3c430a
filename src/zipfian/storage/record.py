"""A small JSON object that carries a CRC-32 of itself: how a folder says which files belong to it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from zipfian.errors import IndexCorrupt

CRC = "crc"


def pack_record(content: Mapping[str, Any]) -> bytes:
    """The one way in which `content` is written; `TypeError`, `ValueError` or `RecursionError` if it is not JSON."""
    return (json.dumps({**content, CRC: _crc(content)}, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def unpack_record(name: str, data: bytes) -> dict[str, Any]:
    """What `pack_record` was given; `IndexCorrupt` if a checksum says that it is not that."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise IndexCorrupt(name, f"is not JSON ({error!r})"[:500]) from error
    if not isinstance(found, dict):
        raise IndexCorrupt(name, f"holds a {type(found).__name__}, not an object")
    crc = found.pop(CRC, None)
    try:
        same = crc == _crc(found)
    except (ValueError, RecursionError) as error:  # numbers and depths that are never written
        raise IndexCorrupt(name, f"cannot be read ({error!r})"[:500]) from error
    if not same:
        raise IndexCorrupt(name, "fails its checksum")
    return found


def _crc(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":")).encode("ascii"))
