"""What an encoded shard says about itself: which share of how many, made with what, and which files belong to it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.encode.base import plain_form, precision_of
from zipfian.errors import FormatTooOld, IndexCorrupt, IndexNotFound, InvalidInput, LimitExceeded, ShardDamaged
from zipfian.objects import JsonObject
from zipfian.storage.layout import VERSION, FileRef, other_format
from zipfian.storage.record import pack_record, unpack_record
from zipfian.storage.regular import read_regular
from zipfian.storage.replace import replacing

MANIFEST = "shard.json"
KIND = "shard"

_PART = re.compile(r"part-[0-9]{6,12}\.enc")
_OLD = "zipfian-shard"
"""What the manifest of zipfian 0.1 says it is."""


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of arrays: which encoder they come from, and what was kept of its results."""

    encoder: str
    """Fingerprint."""
    kind: str
    """What the encoder reads: text or image."""
    form: str
    """`pooled`, or the vocabulary's name for what it keeps."""

    @property
    def key(self) -> str:
        """The fingerprint that the encode cache uses."""
        return f"{self.encoder}\n{self.form}"

    @property
    def precision(self) -> str:
        """Of the encoder when it made them."""
        return precision_of(self.form)

    @property
    def plain(self) -> Form:
        """The same arrays, in whatever precision they were made."""
        return Form(self.encoder, self.kind, plain_form(self.form))


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a shard."""

    file: FileRef
    entries: int

    @property
    def name(self) -> str:
        """Of the file, in the shard's folder."""
        return self.file.name


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `shard.json` says."""

    share: int
    of: int
    forms: tuple[Form, ...]
    parts: tuple[Part, ...] = ()
    complete: bool = False
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """For people: source, fields, documents."""

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        known = {
            "kind": KIND, "format": VERSION, "shard": [self.share, self.of], "complete": self.complete,
            "forms": [[f.encoder, f.kind, f.form] for f in self.forms],
            "parts": [{"file": p.file.to_json(), "entries": p.entries} for p in self.parts],
            "about": dict(self.about),
        }  # fmt: skip
        with replacing(path / MANIFEST) as file:
            file.write(pack_record(known))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """What `write` wrote; `ShardDamaged` if it is anything else, `FormatTooOld` or `FormatTooNew` by its format."""
        file = path / MANIFEST
        try:
            data = read_regular(file, limits.MAX_MANIFEST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            raise IndexNotFound(
                f"{path}: no encoded shard (it has no {MANIFEST}); make one with 'zipfian encode SOURCE --shard i/n'"
            ) from None
        except LimitExceeded as error:
            raise ShardDamaged(file, "it is too large to be the description of a shard") from error
        try:
            return cls._of(unpack_record(MANIFEST, data), file)
        except IndexCorrupt as error:
            if _is_of_0_1(data):
                raise _too_old(file) from None
            raise ShardDamaged(file, f"it {error.problem}") from error
        except InvalidInput as error:
            raise ShardDamaged(file, str(error)) from error

    @classmethod
    def _of(cls, known: dict[str, Any], file: Path) -> Manifest:
        """From the object in the file, whose checksum is right."""
        found = JsonObject(known, "the description of a shard")
        found.choice("kind", (KIND,))
        version = found.whole("format", 0, 2**31)
        if version < VERSION:
            raise _too_old(file)
        if version > VERSION:
            raise other_format(str(file), version)
        places = found.row("shard", 2)
        of = places.whole("1", 1, limits.MAX_SHARDS)
        share = places.whole("0", 1, of)
        forms = tuple(
            Form(row.text("0"), row.choice("1", ("text", "image")), row.text("2"))
            for row in found.rows("forms", 3, limits.MAX_SHARDS)
        )
        parts = tuple(_part(value) for value in found.items("parts", limits.MAX_MANIFEST_BYTES))
        complete, about = found.flag("complete"), found.mapping("about", limits.MAX_COLUMNS)
        found.end()
        return cls(share, of, forms, parts, complete, about)

    def next_part(self) -> str:
        """A name that no part has."""
        return f"part-{1 + max((int(part.name[5:-4]) for part in self.parts), default=0):06d}.enc"


def _part(value: Any) -> Part:
    row = JsonObject(value, "a part of the shard")
    try:
        file = FileRef.from_json(row.mapping("file", len(FileRef.__slots__)))
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput(f"a part of the shard: 'file' names no file ({error!r})"[:300]) from error
    if not _PART.fullmatch(file.name):
        raise InvalidInput(f"a part of the shard is called part-000001.enc or the like, not {file.name[:80]!r}")
    part = Part(file, row.whole("entries", 0, 2**40))
    row.end()
    return part


def _is_of_0_1(data: bytes) -> bool:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("format") == _OLD


def _too_old(file: Path) -> FormatTooOld:
    return FormatTooOld(
        f"{file} is of an encoded shard of an older zipfian, which this release does not read: give its "
        "'zipfian encode' command a new folder, and delete this one"
    )
