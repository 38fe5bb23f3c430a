"""The few protocol-buffer rules that writing an ONNX file takes: varints, tagged fields, nested messages.

The `onnx` package would do this too, but it is 15 MB and a compiled dependency for what is 40 lines here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

_VARINT = 0
_BYTES = 2
_FIXED32 = 5


def varint(value: int) -> bytes:
    """A whole number, seven bits a byte, least significant first; a negative one as its 64-bit complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """Field of type int32, int64, enum or bool."""
    return varint(field << 3 | _VARINT) + varint(value)


def real(field: int, value: float) -> bytes:
    """Field of type float."""
    return varint(field << 3 | _FIXED32) + struct.pack("<f", value)


def blob(field: int, value: bytes | memoryview) -> bytes:
    """Field of type bytes, or a message that is already written."""
    return b"".join((varint(field << 3 | _BYTES), varint(len(value)), value))


def text(field: int, value: str) -> bytes:
    """Field of type string."""
    return blob(field, value.encode())


def integers(field: int, values: Iterable[int]) -> bytes:
    """Repeated field of type int64 (packed)."""
    return blob(field, b"".join(varint(v) for v in values))
