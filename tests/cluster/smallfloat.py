"""Lucene's one-byte lengths, written out to show that they are all that differs."""

from __future__ import annotations

FREE = 24
"""Small lengths that are kept as they are, beside those that four bits hold anyway."""


def rounded(length: int) -> int:
    """The length that comes back from one byte: whole up to 40, then four significant bits, cut off."""
    rest = length - FREE
    if length < FREE or rest < 8:
        return length
    shift = rest.bit_length() - 4
    return FREE + (rest >> shift << shift if shift > 0 else rest)
