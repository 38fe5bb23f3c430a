"""A few small arrays as one piece of bytes, for what is kept by the hundred thousand and read whole.

A container (`container`) is for files that are large and mapped. For the three arrays of one encoded text (3,200 bytes)
it takes 407 bytes more instead of 95, and reading it takes three times as long (82 and 26 us, measured). So the entries
of the encode cache, a file each, are packed and sealed with one checksum; in a shard, thousands of packed entries are
one section of a container, whose blocks have checksums already.

`unpack` trusts nothing: a type is one of numpy's plain numbers, and every shape is compared with the bytes there are.
"""

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
_SEAL = struct.Struct("<8sI")
"""Magic, and the checksum of all that follows."""
_LENGTH = struct.Struct("<I")
"""Bytes of the JSON that describes the arrays, which comes next; then their numbers, one after the other."""
_TYPES = {
    dtype.str: dtype for dtype in (np.dtype(t).newbyteorder("<") for t in "?bhilqBHILQefd")
}  # booleans, integers and floats
_MOST_DIMENSIONS = 32


class Damaged(Exception):
    """The bytes are not what `pack` or `seal` made."""


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Named arrays of booleans, integers or floats, of any shape."""
    little = {name: a.astype(a.dtype.newbyteorder("<"), order="C", copy=False) for name, a in arrays.items()}
    table = json.dumps({name: [a.dtype.str, list(a.shape)] for name, a in little.items()}).encode()
    return b"".join((_LENGTH.pack(len(table)), table, *(a.tobytes() for a in little.values())))


def unpack(data: bytes, place: int = 0) -> dict[str, Array]:
    """The arrays that are packed from `place` to the end, read-only; `Damaged` unless they fill it exactly."""
    start = place + _LENGTH.size
    if len(data) < start:
        raise Damaged("cut short")
    place = start + int(_LENGTH.unpack_from(data, place)[0])
    arrays: dict[str, Array] = {}
    try:
        for name, (kind, shape) in json.loads(data[start:place]).items():
            if len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError(f"a shape of {shape!r}")
            count = math.prod(shape)
            dtype = _TYPES[kind]
            arrays[name] = np.frombuffer(data, dtype, count, place).reshape(shape)
            place += count * dtype.itemsize
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged(f"its table cannot be read ({error!r})"[:200]) from error
    if place != len(data):
        raise Damaged("it does not end where its arrays do")
    return arrays


def seal(data: bytes) -> bytes:
    """Bytes behind a checksum of them: the content of a file of its own."""
    return _SEAL.pack(_MAGIC, zlib.crc32(data)) + data


def unpack_sealed(data: bytes) -> dict[str, Array]:
    """The arrays that were packed and sealed; `Damaged` when a bit is different, or the format is another one."""
    if len(data) < _SEAL.size:
        raise Damaged("cut short")
    magic, checksum = _SEAL.unpack_from(data)
    if magic != _MAGIC or zlib.crc32(memoryview(data)[_SEAL.size :]) != checksum:
        raise Damaged("wrong checksum")
    return unpack(data, _SEAL.size)
