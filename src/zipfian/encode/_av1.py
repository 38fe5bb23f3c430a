"""How large the frames of an AV1 stream are: read from its sequence headers, as the decoder will.

An AVIF file says its size twice, in its boxes and in its stream. The decoder makes room for what the stream says.
"""

from __future__ import annotations

from collections.abc import Iterator

_SEQUENCE_HEADER = 1


class _Bits:
    """Bits of some bytes, the highest first; `IndexError` behind the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> int:
        end = self._at + count
        if end > 8 * len(self._data):
            raise IndexError("a sequence header is cut short")
        first, last = self._at // 8, (end + 7) // 8
        self._at = end
        return (int.from_bytes(self._data[first:last], "big") >> (8 * last - end)) & ((1 << count) - 1)

    def skip_uvlc(self) -> None:
        """A number that begins with as many zeros as it has further bits."""
        zeros = 0
        while zeros < 32 and not self.take(1):
            zeros += 1
        self.take(zeros if zeros < 32 else 0)


def frame_sizes(stream: bytes) -> Iterator[tuple[int, int]]:
    """Width and height of every sequence header in a stream; `IndexError` where it is cut short."""
    at = 0
    while at < len(stream):
        head = stream[at]
        kind, extended, sized = head >> 3 & 15, head >> 2 & 1, head >> 1 & 1
        at += 1 + extended
        size, at = _leb128(stream, at) if sized else (len(stream) - at, at)
        if kind == _SEQUENCE_HEADER:
            yield _size(_Bits(stream[at : at + size]))
        at += size


def _leb128(data: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and where it ends."""
    value = 0
    for place in range(8):
        value |= (data[at + place] & 127) << (7 * place)
        if not data[at + place] & 128:
            return value, at + place + 1
    raise IndexError("a length of more than eight bytes")


def _size(bits: _Bits) -> tuple[int, int]:
    """The fields up to the size, in the order of section 5.5.1 of the AV1 specification."""
    bits.take(4)  # profile, still picture
    if bits.take(1):  # the short header of still pictures
        bits.take(5)
    else:
        _skip_operating_points(bits)
    width_bits, height_bits = bits.take(4) + 1, bits.take(4) + 1
    return bits.take(width_bits) + 1, bits.take(height_bits) + 1


def _skip_operating_points(bits: _Bits) -> None:
    delay_bits = 0
    if bits.take(1):  # times
        bits.take(64)
        if bits.take(1):
            bits.skip_uvlc()
        if bits.take(1):  # a model of the decoder
            delay_bits = bits.take(5) + 1
            bits.take(42)
    display_delays = bits.take(1)
    for _ in range(bits.take(5) + 1):
        bits.take(12)
        if bits.take(5) > 7:  # a level that has tiers
            bits.take(1)
        if delay_bits and bits.take(1):
            bits.take(2 * delay_bits + 1)
        if display_delays and bits.take(1):
            bits.take(4)
