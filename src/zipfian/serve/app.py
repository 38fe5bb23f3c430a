"""The service: routes over collections, behind a gate, with the page beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from zipfian._version import __version__
from zipfian.errors import ZipfianError
from zipfian.serve import problems
from zipfian.serve.gate import Gate
from zipfian.serve.routes import collections, search
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import Shelf

PAGE = Path(__file__).parent / "page"

ABOUT = """\
Search that shows why. Every score comes apart into fields, terms and places; the parts sum to it.

Errors have one shape, `{"error": {"code", "message", "type", "request_id"}}`; every answer has its `time` in seconds.
Names in paths are percent-encoded, slashes included.
"""


def create_app(shelf: Shelf, settings: ServeSettings) -> ASGIApp:
    """The service as an ASGI application: it follows the collections while it runs, and closes them at its end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads + 2
        shelf.follow(settings.refresh)
        yield
        await anyio.to_thread.run_sync(shelf.close)

    app = FastAPI(
        title="zipfian", version=__version__, description=ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None,
        redirect_slashes=False, separate_input_output_schemas=False,
    )  # fmt: skip
    app.state.shelf = shelf
    app.state.settings = settings
    for module in (collections, search):
        app.include_router(module.routes)
    app.add_exception_handler(ZipfianError, problems.on_library_error)
    app.add_exception_handler(RequestValidationError, problems.on_invalid)
    app.add_exception_handler(HTTPException, problems.on_http_error)
    app.add_exception_handler(Exception, problems.on_bug)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return Gate(app, settings)
