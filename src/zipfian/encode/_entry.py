"""One cached result as bytes: named arrays behind a checksum, so that a torn or altered file is noticed."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MAGIC = b"ZPFC\x01\x00\x00\x00"
_START = struct.Struct("<8sI")
"""Magic, and the checksum of all that follows."""
_LENGTH = struct.Struct("<I")
"""Bytes of the JSON that describes the arrays, which comes next; then their numbers, one after the other."""


class Damaged(Exception):
    """The bytes are not a whole entry."""


def pack(arrays: Mapping[str, Array]) -> bytes:
    """The arrays as one block of bytes."""
    little = {name: a.astype(a.dtype.newbyteorder("<"), order="C", copy=False) for name, a in arrays.items()}
    table = json.dumps({name: [a.dtype.str, list(a.shape)] for name, a in little.items()}).encode()
    body = b"".join((_LENGTH.pack(len(table)), table, *(a.tobytes() for a in little.values())))
    return _START.pack(_MAGIC, zlib.crc32(body)) + body


def unpack(data: bytes) -> dict[str, Array]:
    """The arrays again, read-only; `Damaged` when anything is not as it was written."""
    if len(data) < _START.size + _LENGTH.size:
        raise Damaged("cut short")
    magic, checksum = _START.unpack_from(data)
    if magic != _MAGIC or zlib.crc32(memoryview(data)[_START.size :]) != checksum:
        raise Damaged("wrong checksum")
    table = _START.size + _LENGTH.size
    place = table + int(_LENGTH.unpack_from(data, _START.size)[0])
    arrays: dict[str, Array] = {}
    for name, (kind, shape) in json.loads(data[table:place]).items():
        dtype = np.dtype(kind)
        count = math.prod(shape)
        arrays[name] = np.frombuffer(data, dtype, count, place).reshape(shape)
        place += count * dtype.itemsize
    return arrays
