"""The service: routes over collections, behind a gate, with the page beside them."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from zipfian._version import __version__
from zipfian.errors import ZipfianError
from zipfian.serve import problems
from zipfian.serve.capacity import Capacity
from zipfian.serve.description import Described
from zipfian.serve.gate import API, Gate
from zipfian.serve.metrics import Metrics
from zipfian.serve.routes import collections, documents, explain, search, state, terms, writing
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import Shelf
from zipfian.serve.warming import warm_up
from zipfian.serve.work import Workers

PAGE = StaticFiles(directory=Path(__file__).parent / "page", html=True)

ABOUT = """\
Search that shows why. Every score comes apart into fields, terms and places; the parts sum to it.

Errors have one shape, `{"error": {"code", "message", "type", "request_id"}}`; every answer has its `time` in seconds.
Names in paths are percent-encoded, slashes included.
"""


async def _elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """What no route answers may be a file of the page; the API has none, and what reads files waits for the loop."""
    if scope["path"].startswith(API):
        raise HTTPException(404)
    await PAGE(scope, receive, send)


def create_app(shelf: Shelf, settings: ServeSettings) -> Gate:
    """The service as an ASGI application: it follows the collections while it runs, and closes them at its end."""
    warm, workers = threading.Event(), Workers(settings.threads)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=warm_up, args=(shelf, warm), name="zipfian-warm-up", daemon=True).start()
        shelf.follow(settings.refresh)
        yield
        await anyio.to_thread.run_sync(workers.close)
        await anyio.to_thread.run_sync(shelf.close)

    app = Described(
        title="zipfian", version=__version__, description=ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None,
        redirect_slashes=False, separate_input_output_schemas=False,
    )  # fmt: skip
    app.state.shelf, app.state.settings, app.state.warm = shelf, settings, warm
    app.state.metrics, app.state.capacity = Metrics(), Capacity(settings.threads, settings.waiting)
    for module in (collections, search, explain, documents, terms, writing, state):
        app.include_router(module.routes)
    app.add_exception_handler(ZipfianError, problems.on_library_error)
    app.add_exception_handler(RequestValidationError, problems.on_invalid)
    app.add_exception_handler(HTTPException, problems.on_http_error)
    app.add_exception_handler(Exception, problems.on_bug)
    app.router.default = _elsewhere
    return Gate(app, settings, app.state.capacity, app.state.metrics, workers)
