"""The parts of a collection in a folder, for tests that look inside."""

from __future__ import annotations

import zipfian as zf
from zipfian.collection.folder import FolderCollection


def folder(collection: zf.Collection) -> FolderCollection:
    """The same collection, known to be in a folder."""
    assert isinstance(collection, FolderCollection)
    return collection
