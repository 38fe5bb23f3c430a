"""What an encoded shard says about itself: which share of how many, made with what, and which files belong to it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.encode import folder
from zipfian.errors import FormatTooNew, IndexNotFound, ShardDamaged

FORMAT = "zipfian-shard"
VERSION = 1
MANIFEST = "shard.json"

_PART = re.compile(r"part-[0-9]{6,12}\.enc")


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
    about: Mapping[str, Any] = field(default_factory=dict)
    """For people: source, legs, documents."""

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        known = {
            "format": FORMAT, "version": VERSION, "shard": [self.share, self.of], "complete": self.complete,
            "forms": [[f.encoder, f.kind, f.form] for f in self.forms],
            "parts": [[p.name, p.nbytes, p.sha256, p.entries] for p in self.parts],
            "about": dict(self.about),
        }  # fmt: skip
        with folder.replacing(path / MANIFEST) as file:
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
        except ValueError:
            raise ShardDamaged(file, "it is not JSON") from None
        if not isinstance(known, dict) or known.get("format") != FORMAT:
            raise ShardDamaged(file, "it does not describe an encoded shard")
        if not isinstance(known.get("version"), int) or known["version"] > VERSION:
            raise FormatTooNew(f"{path}: a shard of version {known.get('version')!r}; this zipfian reads {VERSION}")
        if _digest({key: value for key, value in known.items() if key != "sha256"}) != known.get("sha256"):
            raise ShardDamaged(file, "its checksum is wrong")
        try:
            parts = tuple(Part(str(n), int(b), str(s), int(e)) for n, b, s, e in known["parts"])
            forms = tuple(Form(str(e), str(k), str(f)) for e, k, f in known["forms"])
            share, of = map(int, known["shard"])
            about = dict(known["about"])
        except (KeyError, TypeError, ValueError):
            raise ShardDamaged(file, "it lacks what the description of a shard has") from None
        if not all(_PART.fullmatch(part.name) for part in parts):
            raise ShardDamaged(file, "it names files that are not parts of a shard")
        return cls(share, of, forms, parts, bool(known["complete"]), about)

    def next_part(self) -> str:
        """A name that no part has."""
        return f"part-{1 + max((int(part.name[5:-4]) for part in self.parts), default=0):06d}.enc"


def _digest(known: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
