"""Errors as answers: one shape, a code for programs, a message for people, and nothing of this machine.

Messages of the library about what a caller gave are passed on. All others may name files: they go to the log, and the
answer says what kind of thing went wrong and which line of the log to look for.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from zipfian import errors
from zipfian.errors import Refused, ZipfianError

log = logging.getLogger("zipfian.serve")

SERVER = "server"
INTERNAL = "internal"

_OWN_WORDS: tuple[tuple[type[ZipfianError], int, str, str], ...] = (
    (errors.LimitExceeded, 422, "limit_exceeded", "limit"),
    (errors.InvalidInput, 422, "invalid_input", "request"),
    (errors.MissingExtra, 501, "not_installed", SERVER),
)
"""Errors about what a caller gave: their messages name no file."""

_OUR_WORDS: tuple[tuple[type[ZipfianError], int, str, str, str], ...] = (
    (errors.NotTrusted, 403, "not_allowed", "state", "the service may not open the picture of this document"),
    (errors.ReadOnly, 403, "read_only", "state", "the collection is served for reading"),
    (errors.IndexLocked, 409, "locked", "state", "another process is writing to the collection"),
    (errors.EngineUnavailable, 503, "engine_unavailable", SERVER, "the cluster behind this collection does not answer"),
    (errors.WeightsNotFound, 501, "no_weights", SERVER, "the service has no weights of the encoder that this needs"),
    (errors.DiskFull, 507, "disk_full", SERVER, "the service has no room to write; nothing committed is lost"),
)


def refusal_of(error: ZipfianError) -> Refused:
    """What a caller may know of an error."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, errors.DeadlineExceeded):
        return Refused(504, "deadline", "the time for this request is over; ask for less, or ask again", "state")
    if isinstance(error, errors.ImageUnreadable):
        return Refused(422, "image_unreadable", f"the picture cannot be used: {error.problem}")
    for kind, status, code, group in _OWN_WORDS:
        if isinstance(error, kind):
            return Refused(status, code, str(error), group)
    for kind, status, code, group, message in _OUR_WORDS:
        if isinstance(error, kind):
            return Refused(status, code, message, group)
    return internal()


def internal() -> Refused:
    """Of what the caller may know nothing but that it happened."""
    return Refused(500, INTERNAL, "something went wrong here; the service's log has it under this request_id", SERVER)


def problem(refused: Refused, request_id: str) -> JSONResponse:
    """The answer."""
    body = {
        "error": {
            "code": refused.code,
            "message": _clean(str(refused)),
            "type": refused.group,
            "request_id": request_id,
        }
    }
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    if refused.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, refused.status, headers)


def _clean(message: str) -> str:
    """As JSON can carry it: what a caller sent may hold halves of surrogate pairs."""
    return message.encode("utf-8", "replace").decode("utf-8")


def id_of(scope: Any) -> str:
    """The request's name in the log."""
    return str(scope.get("state", {}).get("request_id", "-"))


async def on_library_error(request: Request, error: Exception) -> JSONResponse:
    """An error that the library raised on purpose."""
    assert isinstance(error, ZipfianError)
    refused = refusal_of(error)
    if refused.code == INTERNAL:
        log.error("failed", exc_info=error, extra={"request_id": id_of(request.scope)})
    return problem(refused, id_of(request.scope))


async def on_bug(request: Request, error: Exception) -> JSONResponse:
    """An error that nobody meant to raise; the server logs it with its traceback."""
    log.error("bug", exc_info=error, extra={"request_id": id_of(request.scope)})
    return problem(internal(), id_of(request.scope))


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    """No such route, another method, a body that cannot be read."""
    assert isinstance(error, HTTPException)
    codes = {400: "unreadable", 404: "unknown_route", 405: "wrong_method"}
    advice = "; /openapi.json has the routes" if error.status_code in (404, 405) else ""
    refused = Refused(error.status_code, codes.get(error.status_code, "refused"), f"{error.detail}{advice}")
    answer = problem(refused, id_of(request.scope))
    answer.headers.update(error.headers or {})
    return answer


async def on_invalid(request: Request, error: Exception) -> JSONResponse:
    """A request that does not have its shape: where, and what is wrong there."""
    assert isinstance(error, RequestValidationError)
    return problem(Refused(422, "invalid_request", _described(error.errors())), id_of(request.scope))


def _described(found: Sequence[Any], most: int = 3) -> str:
    lines = []
    for entry in found[:most]:
        place = ".".join(str(part) for part in entry["loc"])[:200]
        lines.append(f"{place}: {str(entry['msg'])[:300]}")
    more = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(lines) + more
