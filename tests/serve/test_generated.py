"""Requests that nobody thought of, made from the service's own description of itself (schemathesis).

A few hundred in every run; `ZIPFIAN_SOAK=1` (`make soak` for this folder) makes more than 20,000.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

import zipfian as zf
from tests.serve.conftest import DOCUMENTS
from zipfian.serve.app import create_app
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import open_shelf

SOAK = os.environ.get("ZIPFIAN_SOAK", "") not in ("", "0")
ROUTES = 20
EACH = -(-26_000 // ROUTES) if SOAK else 20

COUNTED: Counter[int] = Counter()


def served() -> Any:
    folder = Path(tempfile.mkdtemp(prefix="zipfian-generated-"))
    with zf.Collection.create(folder / "notes.zf") as notes:
        notes.add(DOCUMENTS)
        notes.commit()
    # a deadline that even a machine busy with other tests keeps: what it does is tested elsewhere
    service = create_app(open_shelf([str(folder / "notes.zf")], write=True), ServeSettings(deadline=300.0))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":  # every request comes with a start and an end of its own, which would close it all
            await service(scope, receive, send)

    return app


schema = schemathesis.openapi.from_asgi("/openapi.json", served(), headers={"host": "localhost"})


@schema.parametrize()
@settings(
    max_examples=EACH,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_the_service(case: Any) -> None:
    if "collection" in (case.path_parameters or {}) and COUNTED.total() % 4:
        case.path_parameters["collection"] = "notes"  # or it would nearly always be one that is not there
    answer = case.call(headers={"host": "localhost"})
    COUNTED[answer.status_code] += 1
    checks = [not_a_server_error, response_schema_conformance, status_code_conformance]
    if answer.status_code != 503:
        case.validate_response(answer, checks=checks)


def test_requests_were_made_and_some_were_fine() -> None:
    """Runs last in this file: a generator that makes nothing but nonsense would test little."""
    if not COUNTED:
        pytest.skip("the requests were not asked for in this run")
    assert COUNTED.total() > EACH * ROUTES / 2
    assert COUNTED[200] > COUNTED.total() / 10
    print(f"{COUNTED.total():,} requests: {dict(sorted(COUNTED.items()))}")
