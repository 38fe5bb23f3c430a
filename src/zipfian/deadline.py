"""A moment after which work is not worth finishing: whoever asks sets it, every stage looks at it before it begins.

It travels with the context of a call, so no stage hands it on; threads that a call starts get it with its context.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from zipfian.errors import DeadlineExceeded

_until: ContextVar[float | None] = ContextVar("zipfian_deadline", default=None)


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Whatever runs inside stops at the first stage after `moment`, as `time.monotonic` counts."""
    token = _until.set(moment)
    try:
        yield
    finally:
        _until.reset(token)


def check(stage: str) -> None:
    """Raise `DeadlineExceeded` where the time is over; `stage` is what was about to begin."""
    moment = _until.get()
    if moment is not None and time.monotonic() > moment:
        raise DeadlineExceeded(f"the time given for this call was over before {stage}; ask for less or give more")
