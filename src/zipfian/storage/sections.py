"""What a file of each kind must hold, and reading it: every check of a section's type, shape and length is here.

A reader declares the sections of its file with `require` when it opens, from the contents alone. A number of the file's
meta data that memory is later allocated by (documents, terms, dimensions) is thereby bound to the length of a section
that really is in the file: a small file cannot claim to be a large one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt
from zipfian.storage.container import SectionFile

Bools = npt.NDArray[np.bool_]

BYTES = ("uint8",)
UINT32 = ("uint8", "uint16", "uint32")
"""Numbers below 2**32: nothing is lost, and no sign appears, when they become int64."""

UINT = (*UINT32, "uint64")
INT = ("int8", "int16", "int32", "int64")

Declared = tuple[tuple[str, ...], int | None]
"""The types a section may have, and how many elements it must have (None: any number)."""


def require(file: SectionFile, sections: Mapping[str, Declared]) -> None:
    """`IndexCorrupt` unless the file has these sections, each 1-d, of one of its types and of its length."""
    for name, (types, count) in sections.items():
        found, shape = file.form(name)
        if found not in types or len(shape) != 1:
            raise IndexCorrupt(
                file.name, f"its section {name!r} is {found} of shape {shape}, not 1-d {' or '.join(types)}"
            )
        if count is not None and shape[0] != count:
            raise IndexCorrupt(file.name, f"its section {name!r} has {shape[0]} elements, not {count}")


def flags(count: int) -> Declared:
    """How `count` booleans written by `pack_flags` are declared."""
    return BYTES, -(-count // 8)


def pack_flags(flags: Bools) -> npt.NDArray[np.uint8]:
    """Booleans as bits, least significant first."""
    return np.packbits(flags, bitorder="little")


def unpack_flags(file: SectionFile, section: str, count: int) -> Bools:
    """The booleans of a section declared with `flags`."""
    return np.unpackbits(file.array(section), count=count, bitorder="little").view(np.bool_)


def read_offsets(file: SectionFile, section: str, total: int) -> npt.NDArray[Any]:
    """A section, declared with at least one element, of ascending offsets from 0 to `total`."""
    found = file.array(section)
    if int(found[0]) != 0 or int(found[-1]) != total or bool(np.any(found[1:] < found[:-1])):
        raise IndexCorrupt(file.name, f"its section {section!r} does not hold ascending offsets from 0 to {total}")
    return found


def meta_int(file: SectionFile, key: str, low: int, high: int) -> int:
    """An integer of the file's meta data, between `low` and `high`."""
    value = file.meta.get(key)
    if type(value) is not int or not low <= value <= high:
        raise IndexCorrupt(file.name, f"its {key} is {_shown(value)}, not a number from {low} to {high}")
    return value


def meta_str(file: SectionFile, key: str, *allowed: str) -> str:
    """A string of the file's meta data; one of `allowed` if any are given."""
    value = file.meta.get(key)
    if not isinstance(value, str) or (allowed and value not in allowed):
        wanted = f", not one of {allowed}" if allowed else ""
        raise IndexCorrupt(file.name, f"its {key} is {_shown(value)}{wanted}")
    return value


def _shown(value: Any) -> str:
    """A value for an error message. Lists and objects are not spelt out: they may be nested to any depth."""
    return repr(value)[:40] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
