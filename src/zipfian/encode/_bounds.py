"""Counting what a picture file has of something."""

from __future__ import annotations

from zipfian.errors import LimitExceeded


def at_most(found: int, limit: int, what: str, name: str) -> None:
    """`LimitExceeded` where a file called `name` has more of something than any real picture."""
    if found > limit:
        raise LimitExceeded(f"{name}: more than {limit:,} {what}, which no real picture has; save it anew")
