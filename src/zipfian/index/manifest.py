"""The manifest: one small JSON file per commit that names every file of it, and is the commit.

`manifest-<generation>.json` is written under a temporary name, synced and renamed; whoever can see it can see a
complete commit. It must be, byte for byte, what `encode` writes for its content, and it carries a CRC-32 of itself
(`storage.record`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zipfian.errors import FileGone, FormatTooNew, FormatTooOld, IndexCorrupt, IndexNotFound, InvalidInput, shown
from zipfian.index.entry import SegmentEntry
from zipfian.limits import MAX_DOCUMENTS, MAX_FILE_NAME_CHARS, MAX_MANIFEST_BYTES, MAX_SEGMENTS
from zipfian.storage.directory import LOCK_NAME, Directory, check_name
from zipfian.storage.layout import VERSION, other_format
from zipfian.storage.record import pack_record, unpack_record

KEPT = 2
"""Commits that stay whole: the newest, and the one before it for slow readers and as a way back.

An older manifest may still be there, held by an open snapshot or because deleting it failed; its files need not be.
"""

_MANIFEST = re.compile(r"manifest-([0-9]{12})\.json")
_SET_ASIDE = re.compile(r"manifest-([0-9]{12})\.json\.aside")
_TEMPORARY = re.compile(r"manifest-[0-9]{12}-[0-9a-f]{8}\.tmp")
_DATA = re.compile(r"s[0-9]{8}-[0-9a-f]{8}[._-][a-z0-9._-]+")
_NOTE = re.compile(rb"([0-9]{12}) ([0-9a-f]{8})\n")
_KEYS = frozenset({"format", "zipfian", "generation", "settings", "segments", "counters", "user"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of one commit. `settings` and `user` are JSON that the index stores without looking inside."""

    generation: int
    segments: tuple[SegmentEntry, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    user: Mapping[str, Any] = field(default_factory=dict)
    zipfian: str = ""
    """Version of the package that wrote it."""

    @property
    def name(self) -> str:
        """Its file name."""
        return manifest_name(self.generation)

    def files(self) -> set[str]:
        """Names of the data files of this commit."""
        return {ref.name for entry in self.segments for ref in entry.files.values()}

    def encode(self) -> bytes:
        """The file's bytes; `InvalidInput` if settings or user data are not JSON or too large."""
        content = {
            "format": VERSION,
            "zipfian": self.zipfian,
            "generation": self.generation,
            "settings": self.settings,
            "segments": [entry.to_json() for entry in self.segments],
            "counters": dict(self.counters),
            "user": self.user,
        }
        try:
            data = pack_record(content)
            same = unpack_record("manifest", data) == content  # {1: "a"} would be {"1": "a"}, a tuple a list
        except (TypeError, ValueError, RecursionError) as e:
            raise InvalidInput(f"settings and user data of a commit must be JSON: {e}") from e
        if not same:
            raise InvalidInput("settings and user data of a commit must be JSON: text as keys, lists, no tuples")
        if len(data) > MAX_MANIFEST_BYTES:
            raise InvalidInput(f"a manifest of {len(data)} bytes is over the limit of {MAX_MANIFEST_BYTES}")
        return data

    @classmethod
    def decode(cls, name: str, data: bytes) -> Manifest:
        """Parse and validate; `IndexCorrupt`, `FormatTooNew` or `FormatTooOld`, never a half-right manifest."""
        try:
            found = unpack_record(name, data)
            version = found["format"]
            if type(version) is int and version != VERSION:
                raise other_format(name, version)
            if set(found) != _KEYS or version != VERSION or pack_record(found) != data:
                raise IndexCorrupt(name, "is not a manifest that zipfian wrote")
            manifest = cls(
                generation=found["generation"],
                segments=tuple(SegmentEntry.from_json(entry) for entry in _sequence(found["segments"])),
                settings=_object(found["settings"]),
                counters={name: _count(value) for name, value in _object(found["counters"]).items()},
                user=_object(found["user"]),
                zipfian=_text(found["zipfian"]),
            )
            if manifest.name != name:
                raise IndexCorrupt(name, f"is the manifest of generation {manifest.generation} under another's name")
            check_segments(manifest.segments)
        except (IndexCorrupt, FormatTooNew, FormatTooOld):
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise IndexCorrupt(name, f"cannot be read as a manifest ({e!r})"[:500]) from e
        return manifest


def check_segments(segments: tuple[SegmentEntry, ...]) -> None:
    """No more segments and documents than allowed, no id or file twice, no file that a writer would not name so."""
    if len(segments) > MAX_SEGMENTS:
        raise InvalidInput(f"{len(segments)} segments, more than the limit of {MAX_SEGMENTS}: merge some")
    if (total := sum(entry.n_docs for entry in segments)) > MAX_DOCUMENTS:
        raise InvalidInput(
            f"{total} documents, more than the limit of {MAX_DOCUMENTS}: merge segments with deleted ones"
        )
    if len({entry.id for entry in segments}) != len(segments):
        raise InvalidInput("a segment is named twice")
    names = [ref.name for entry in segments for ref in entry.files.values()]
    for name in names:
        if not _DATA.fullmatch(check_name(name)):
            raise InvalidInput(f"a data file's name must start with an id from Writer.new_segment_id: {name!r}")
    if len(set(names)) != len(names):
        raise InvalidInput("a file is named twice")


def manifest_name(generation: int) -> str:
    """The file name of a generation's manifest."""
    if type(generation) is not int or not 0 < generation < 10**12:
        raise InvalidInput(f"a generation is a whole number from 1: {shown(generation)}")
    return f"manifest-{generation:012d}.json"


def list_generations(directory: Directory) -> list[int]:
    """Generations whose manifests are there, oldest first, whether or not they are sound."""
    return generations_in(directory.list())


def generations_in(names: Iterable[str]) -> list[int]:
    """The generations of the manifests among these file names, oldest first."""
    return sorted(int(m[1]) for name in names if (m := _MANIFEST.fullmatch(name)) and int(m[1]) > 0)


def newest_named(names: Iterable[str]) -> int:
    """The largest generation among manifests, also those that `restore` set aside: numbers are used once."""
    return max((int(m[1]) for n in names if (m := _MANIFEST.fullmatch(n) or _SET_ASIDE.fullmatch(n))), default=0)


def not_a_collection(directory: Directory, names: Iterable[str]) -> IndexNotFound:
    """The error for a folder without a manifest, which says what it is instead."""
    if any(name != LOCK_NAME for name in names):
        return IndexNotFound(f"{directory} is not a collection: none of the files in it is a manifest")
    return IndexNotFound(f"{directory} is an empty folder, not a collection: create one in it first")


def is_ours(name: str) -> bool:
    """Whether a writer may have made this file, so that a writer may collect it. Nothing else is ever deleted."""
    return any(pattern.fullmatch(name) for pattern in (_DATA, _MANIFEST, _TEMPORARY))


def read_manifest(directory: Directory, generation: int) -> Manifest:
    """One generation's manifest, validated; `FileGone` if there is none."""
    name = manifest_name(generation)
    try:
        data = directory.read(name, MAX_MANIFEST_BYTES)
    except FileNotFoundError as e:
        raise FileGone(name, "is missing") from e
    return Manifest.decode(name, data)


def pack_note(generation: int) -> bytes:
    """What the lock file says about the newest commit: its generation and a checksum against torn writes."""
    text = b"%012d" % generation
    return b"%s %08x\n" % (text, zlib.crc32(text))


def read_note(directory: Directory) -> int:
    """The newest generation according to the lock file; 0 when it says nothing (it may lag, it is never ahead)."""
    try:
        found = _NOTE.match(directory.read(LOCK_NAME, 4096))
    except (OSError, IndexCorrupt):  # absent, not readable, not a file that a writer made: it says nothing
        return 0
    return int(found[1]) if found and int(found[2], 16) == zlib.crc32(found[1]) else 0


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_FILE_NAME_CHARS or not (value == "" or value.isprintable()):
        raise ValueError(f"the name of a version was expected, not {shown(value)}")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"a count was expected, not {shown(value)}")
    return value


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return value
