"""A segment as the manifest names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from zipfian.limits import MAX_DOCUMENTS
from zipfian.storage.layout import FileRef


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """An immutable segment: its id, its documents (deleted ones included) and its files by role.

    Roles are `doc`, `col`, `vec`, `del`, `field:<name>` and `vec:<name>`. Adding a field or deleting documents makes a
    new entry with the same id that names the new file; files themselves never change.
    """

    id: str
    n_docs: int
    files: Mapping[str, FileRef]

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    def with_file(self, role: str, ref: FileRef) -> SegmentEntry:
        """The same segment with one file added or replaced."""
        return replace(self, files={**self.files, role: ref})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "id": self.id,
            "n_docs": self.n_docs,
            "files": {role: ref.to_json() for role, ref in sorted(self.files.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SegmentEntry:
        """The inverse of `to_json`; `ValueError`, `TypeError`, `KeyError` or `AttributeError` for anything else."""
        seg_id, n_docs = value["id"], value["n_docs"]
        if not isinstance(seg_id, str) or type(n_docs) is not int or not 0 <= n_docs <= MAX_DOCUMENTS:
            raise ValueError(f"not a segment: {seg_id!r} with {n_docs!r} documents")
        if set(value) != {"id", "n_docs", "files"}:
            raise ValueError(f"segment {seg_id!r} has unknown or missing keys")
        return cls(seg_id, n_docs, {str(role): FileRef.from_json(ref) for role, ref in value["files"].items()})
