"""The few protocol-buffer rules that writing an ONNX file and reading a SentencePiece model take.

Varints, tagged fields, nested messages. The `onnx` package would write them too, but it is 15 MB and a compiled
dependency for what is 40 lines here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from zipfian.errors import InvalidInput

_VARINT = 0
_FIXED64 = 1
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


def message(field: int, parts: Iterable[bytes | memoryview]) -> list[bytes | memoryview]:
    """Field of a message from the pieces that it consists of, as pieces again: what is large is copied once, later."""
    pieces = list(parts)
    return [varint(field << 3 | _BYTES) + varint(sum(map(len, pieces))), *pieces]


def text(field: int, value: str) -> bytes:
    """Field of type string."""
    return blob(field, value.encode())


def integers(field: int, values: Iterable[int]) -> bytes:
    """Repeated field of type int64 (packed)."""
    return blob(field, b"".join(varint(v) for v in values))


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a message: a whole number, or the bytes of anything else."""
    at = 0
    while at < len(message):
        tag, at = _varint_at(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint_at(message, at)
            yield field, value
            continue
        if wire == _BYTES:
            size, at = _varint_at(message, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise InvalidInput(f"a protocol-buffer message has a field of wire type {wire}, which nothing here reads")
        if size > len(message) - at:
            raise InvalidInput(f"a protocol-buffer message ends within its field {field}: the file is not whole")
        yield field, message[at : at + size]
        at += size


def _varint_at(message: memoryview, at: int) -> tuple[int, int]:
    """The whole number that begins at a place, and where the next thing begins."""
    value = 0
    for i, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, at + i + 1
    raise InvalidInput("a protocol-buffer message ends within a number: the file is not whole")
