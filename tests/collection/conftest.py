"""Fixtures shared by the tests of collections."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import zipfian as zf
from tests.collection.samples import DOCUMENTS, FIELDS
from tests.equality.places import quick_folder


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """A folder for tests that commit very often."""
    folder = quick_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The sample documents, committed as generation 2."""
    with zf.Collection.create(tmp_path / "notes.zf", FIELDS) as c:
        assert c.add(DOCUMENTS) == 5
        assert len(c) == 0  # not before the commit
        assert c.commit(user={"why": "first"}) == 2
    return tmp_path / "notes.zf"


@pytest.fixture
def notes(path: Path) -> Iterator[zf.Collection]:
    """The same, open for writing."""
    with zf.Collection.open(path, "w") as c:
        yield c
