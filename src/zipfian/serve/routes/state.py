"""Whether the service lives, whether it is ready, and what it has done."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from zipfian.errors import Refused
from zipfian.serve.answering import answer
from zipfian.serve.schemas.answers import ErrorAnswer, StateAnswer

routes = APIRouter(tags=["state"])


@routes.get("/health", response_model=StateAnswer)
async def health(request: Request) -> Response:
    """The process answers."""
    return answer(request, {"status": "ok"})


@routes.get("/ready", response_model=StateAnswer, responses={503: {"model": ErrorAnswer}})
async def ready(request: Request) -> Response:
    """Encoders and kernels are warm: a search takes no longer than any other will."""
    if not request.app.state.warm.is_set():
        raise Refused(503, "warming_up", "encoders and kernels are being loaded", "state", retry_after=2)
    return answer(request, {"status": "ready"})


@routes.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> PlainTextResponse:
    """Counters and histograms in Prometheus' text format."""
    text = request.app.state.metrics.render(request.app.state.shelf, request.app.state.capacity)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
