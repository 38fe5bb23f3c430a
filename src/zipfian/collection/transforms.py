"""The fitted transforms of scalar fields in the files of a collection: it can be moved, and needs no other folder.

Two files each, `scalar-<hash>.safetensors` and `scalar-<hash>.json`, named by fingerprint and never changed. They are
written before a commit names the field, the settings last: without them the arrays are an unfinished copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zipfian import limits
from zipfian.errors import FingerprintMismatch, IndexCorrupt, InvalidInput
from zipfian.fields.base import Field
from zipfian.fields.model import FindScalar
from zipfian.storage.directory import Directory, write_file

if TYPE_CHECKING:
    from zipfian.vocabulary.scalar import ScalarVocabulary

HEADERS = 1 << 16
"""More than a safetensors file of two arrays has beside their numbers."""
MOST_BYTES = 4 * limits.MAX_ROTATED_DIM * (limits.MAX_ROTATED_DIM + 1) + HEADERS
"""Of the arrays of the largest transform there may be."""


def names(fingerprint: str) -> tuple[str, str]:
    """Files of a transform: arrays, then settings."""
    stem = fingerprint.replace(":", "-")
    return f"{stem}.safetensors", f"{stem}.json"


def keep(directory: Directory, fields: Mapping[str, Field]) -> None:
    """Write the transforms of scalar fields that are not there yet. Only a writer that holds the lock does this."""
    for field in fields.values():
        if field.transform is None:
            continue
        arrays, settings = names(field.transform)
        if directory.exists(settings):
            continue
        if directory.exists(arrays):
            directory.delete(arrays)
        for name, data in zip((arrays, settings), field.transform_files(), strict=True):
            write_file(directory, name, data)
        directory.sync()


def finder(directory: Directory) -> FindScalar:
    """Reads a transform by its fingerprint."""

    def find(fingerprint: str) -> ScalarVocabulary:
        from zipfian.vocabulary.scalar import ScalarVocabulary

        files = names(fingerprint)
        try:
            arrays, settings = directory.read(files[0], MOST_BYTES), directory.read(files[1], HEADERS)
        except FileNotFoundError as error:
            raise IndexCorrupt(
                str(directory), f"the transform {fingerprint} of a scalar field is missing ({' and '.join(files)})"
            ) from error
        try:
            return ScalarVocabulary.from_bytes(arrays, settings, f"{directory}: {files[1]}")
        except (InvalidInput, FingerprintMismatch) as error:
            raise IndexCorrupt(str(directory), f"the transform of a scalar field is damaged: {error}") from error

    return find


def problems(directory: Directory, fields: Mapping[str, Field]) -> list[tuple[str, str]]:
    """Transforms that cannot be used, as a check reports them."""
    out = []
    for field in fields.values():
        wanted = field.transform
        if wanted is not None:
            try:
                found = finder(directory)(wanted).fingerprint
            except (IndexCorrupt, OSError) as error:
                out.append((names(wanted)[0], error.problem if isinstance(error, IndexCorrupt) else str(error)))
                continue
            if found != wanted:
                out.append((names(wanted)[0], f"holds the transform {found}"))
    return out
