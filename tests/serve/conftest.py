"""A service over a small collection, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf

pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")

from starlette.testclient import TestClient

from zipfian.serve.app import create_app
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import open_shelf

Service = Callable[..., TestClient]

PATIENT = 120.0
"""Seconds: a machine busy with other tests may take long over its first search."""

SCRIPT = "<script>alert(1)</script>"

DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a", "text": "Plants make food from light.", "metadata": {"lang": "en", "year": 2021, "tags": ["x", "y"]}},
    {"id": "b", "text": "Cats like food.", "metadata": {"lang": "en", "year": 2024, "tags": ["y", "y"]}},
    {"id": "c/d", "text": "Katzen schlafen.", "metadata": {"lang": "de", "year": 2020}},
    {"id": SCRIPT, "text": f"{SCRIPT} food", "metadata": {"lang": SCRIPT}},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The sample documents, committed."""
    with zf.Collection.create(tmp_path / "notes.zf") as notes:
        notes.add(DOCUMENTS)
        notes.commit()
    return tmp_path / "notes.zf"


@pytest.fixture
def service(path: Path) -> Iterator[Service]:
    """Starts services over the sample documents; `write=True` opens them for writing."""
    with ExitStack() as stack:

        def start(write: bool = False, places: Any = None, **settings: Any) -> TestClient:
            shelf = open_shelf(places or [str(path)], write=write)
            app = create_app(shelf, ServeSettings(**{"deadline": PATIENT, **settings}))
            return stack.enter_context(TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False))

        yield start


@pytest.fixture
def client(service: Service) -> TestClient:
    """One for reading."""
    return service()
