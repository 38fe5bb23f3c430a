"""What an encoded shard says about itself: which share of how many, made with what, and which files belong to it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.errors import IndexNotFound, InvalidInput, ShardDamaged
from zipfian.objects import JsonObject
from zipfian.storage.replace import replacing

FORMAT = "zipfian-shard"
VERSION = 1
MANIFEST = "shard.json"

_PART = re.compile(r"part-[0-9]{6,12}\.enc")
_SHA256 = re.compile(r"[0-9a-f]{64}")


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


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a shard."""

    name: str
    nbytes: int
    sha256: str
    entries: int


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
            "format": FORMAT, "version": VERSION, "shard": [self.share, self.of], "complete": self.complete,
            "forms": [[f.encoder, f.kind, f.form] for f in self.forms],
            "parts": [[p.name, p.nbytes, p.sha256, p.entries] for p in self.parts],
            "about": dict(self.about),
        }  # fmt: skip
        with replacing(path / MANIFEST) as file:
            file.write(json.dumps({**known, "sha256": _digest(known)}, indent=1).encode())

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """What `write` wrote."""
        file = path / MANIFEST
        try:
            if file.stat().st_size > limits.MAX_MANIFEST_BYTES:
                raise ShardDamaged(file, "it is too large to be the description of a shard")
            known = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise IndexNotFound(
                f"{path}: no encoded shard (it has no {MANIFEST}); make one with 'zipfian encode SOURCE --shard i/n'"
            ) from None
        except (ValueError, RecursionError):
            raise ShardDamaged(file, "it is not JSON") from None
        if not isinstance(known, dict) or known.get("format") != FORMAT:
            raise ShardDamaged(file, "it does not describe an encoded shard")
        found = JsonObject(known, "the description of a shard")
        try:
            found.version(VERSION)
        except InvalidInput as error:
            raise ShardDamaged(file, str(error)) from error
        if _digest({key: value for key, value in known.items() if key != "sha256"}) != known.get("sha256"):
            raise ShardDamaged(file, "its checksum is wrong")
        try:
            return cls._of(found)
        except InvalidInput as error:
            raise ShardDamaged(file, str(error)) from error

    @classmethod
    def _of(cls, found: JsonObject) -> Manifest:
        """From the object in the file, whose checksum is right."""
        places = found.row("shard", 2)
        of = places.whole("1", 1, limits.MAX_SHARDS)
        share = places.whole("0", 1, of)
        forms = tuple(
            Form(row.text("0"), row.choice("1", ("text", "image")), row.text("2"))
            for row in found.rows("forms", 3, limits.MAX_SHARDS)
        )
        parts = tuple(
            Part(row.match("0", _PART), row.whole("1", 0, 2**62), row.match("2", _SHA256), row.whole("3", 0, 2**62))
            for row in found.rows("parts", 4, limits.MAX_MANIFEST_BYTES)
        )
        complete, about = found.flag("complete"), found.mapping("about", limits.MAX_COLUMNS)
        found.rest(("format", "sha256"))
        return cls(share, of, forms, parts, complete, about)

    def next_part(self) -> str:
        """A name that no part has."""
        return f"part-{1 + max((int(part.name[5:-4]) for part in self.parts), default=0):06d}.enc"


def _digest(known: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
