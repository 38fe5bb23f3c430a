"""Keys: 256 random bits that a caller shows. Only their hashes are kept, and nothing of a key is ever logged.

A key is no password: it cannot be guessed, so one round of SHA-256 protects it at rest as well as a slow hash would.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zipfian.errors import InvalidInput, shown

Role = Literal["none", "read", "admin"]

_LINE = re.compile(r"(read|admin)\s+([0-9a-f]{64})(\s+#.*)?")
PREFIX = "zf_"
"""Keys begin so: scanners of repositories find one that was published by mistake."""


def new_key() -> str:
    """A key that nobody has."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Keys:
    """Hashes of the keys that a service knows."""

    read: tuple[str, ...] = ()
    admin: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.read or self.admin)

    def role(self, key: str | None) -> Role:
        """What a caller with this key may do; every known hash is compared, in constant time."""
        given = hashed(key or "")
        reads = [hmac.compare_digest(given, known) for known in self.read]
        writes = [hmac.compare_digest(given, known) for known in self.admin]
        return "admin" if any(writes) else "read" if any(reads) else "none"


def read_keys(lines: Iterable[str]) -> Keys:
    """Keys of a file: a line each, `read HASH` or `admin HASH`; `#` begins a comment."""
    found: dict[str, list[str]] = {"read": [], "admin": []}
    for number, line in enumerate(lines, start=1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        match = _LINE.fullmatch(said)
        if match is None:
            raise InvalidInput(
                f"line {number} of the keys begins with {shown(said[:12])}: a line is 'read HASH' or 'admin HASH', "
                "a SHA-256 of 64 digits, and zipfian serve --new-key makes one"
            )
        found[match[1]].append(match[2])
    return Keys(tuple(found["read"]), tuple(found["admin"]))


def load_keys(path: Path) -> Keys:
    """The keys of a file, of which there must be one."""
    with path.open(encoding="utf-8") as lines:
        keys = read_keys(lines)
    if not keys:
        raise InvalidInput(f"{path}: no key in it; zipfian serve --new-key read makes one")
    return keys


def bearer(header: str | None) -> str | None:
    """The key of an Authorization header."""
    scheme, _, key = (header or "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None
