"""The log: a line for each request, as words or as JSON. What was asked stands in it only on request."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

NAME = "zipfian.serve"

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def extras(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    """What a line says beside its message."""
    return ((name, value) for name, value in vars(record).items() if name not in _USUAL)


class JsonLines(logging.Formatter):
    """A line of JSON: time, level, message, and whatever else the line says."""

    def format(self, record: logging.LogRecord) -> str:
        out: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **dict(extras(record)),
        }
        if record.exc_info:
            out["traceback"] = self.formatException(record.exc_info)
        return json.dumps(out, default=str)


class Words(logging.Formatter):
    """A line for people. Values are written as JSON, so that nothing in them can begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        told = " ".join(f"{name}={json.dumps(value, default=str)}" for name, value in extras(record))
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"{when} {record.levelname.lower()} {record.getMessage()} {told}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


@contextmanager
def to_standard_error(as_json: bool) -> Iterator[None]:
    """Send the service's log to standard error, for as long as it runs: whoever comes after may have closed that.

    For the command: a library leaves this to the program it is in.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else Words())
    with ExitStack() as stack:
        for name, level in ((NAME, logging.INFO), ("uvicorn.error", logging.WARNING)):
            log = logging.getLogger(name)
            stack.callback(_set, log, log.handlers[:], log.level, log.propagate)
            _set(log, [handler], level, propagate=False)
        yield


def _set(log: logging.Logger, handlers: list[logging.Handler], level: int, propagate: bool) -> None:
    log.handlers[:] = handlers
    log.setLevel(level)
    log.propagate = propagate
