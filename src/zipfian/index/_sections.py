"""Reading sections and meta data with the checks that every file needs: type, number of elements, range."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt
from zipfian.index._arrays import Bools
from zipfian.index.container import SectionFile


def unpack_flags(file: SectionFile, section: str, count: int) -> Bools:
    """The booleans of a section written by `pack_flags`."""
    packed = unsigned(file, section, -(-count // 8))
    if packed.dtype != np.uint8:
        raise IndexCorrupt(file.name, f"its section {section!r} has the wrong type")
    return np.unpackbits(packed, count=count, bitorder="little").view(np.bool_)


def unsigned(file: SectionFile, section: str, count: int) -> npt.NDArray[Any]:
    """A 1-d section of `count` unsigned integers."""
    return typed(file, section, count, "u")


def typed(file: SectionFile, section: str, count: int, kind: str) -> npt.NDArray[Any]:
    """A 1-d section of `count` elements of a numpy type kind (`u`, `i`, `f`), verified."""
    if file.length(section) != count:
        raise IndexCorrupt(file.name, f"its section {section!r} has {file.length(section)} elements, not {count}")
    found = file.array(section)
    if found.ndim != 1 or found.dtype.kind != kind:
        raise IndexCorrupt(file.name, f"its section {section!r} has the wrong type or shape")
    return found


def read_offsets(file: SectionFile, section: str, pieces: int, total: int) -> npt.NDArray[Any]:
    """A section of `pieces + 1` ascending offsets from 0 to `total`."""
    found = unsigned(file, section, max(pieces, 0) + 1)
    if int(found[0]) != 0 or int(found[-1]) != total or bool(np.any(found[1:] < found[:-1])):
        raise IndexCorrupt(file.name, f"its section {section!r} does not hold ascending offsets from 0 to {total}")
    return found


def meta_int(file: SectionFile, key: str, low: int, high: int) -> int:
    """An integer of the file's meta data, between `low` and `high`."""
    value = file.meta.get(key)
    if type(value) is not int or not low <= value <= high:
        raise IndexCorrupt(file.name, f"its {key} is {str(value)[:40]}, not a number from {low} to {high}")
    return value


def meta_str(file: SectionFile, key: str, *allowed: str) -> str:
    """A string of the file's meta data; one of `allowed` if any are given."""
    value = file.meta.get(key)
    if not isinstance(value, str) or (allowed and value not in allowed):
        wanted = f", not one of {allowed}" if allowed else ""
        raise IndexCorrupt(file.name, f"its {key} is {str(value)[:40]!r}{wanted}")
    return value
