"""Years and months: `2024` and `2024-05` stand for all their moments in filters of dates, and are what dates count by.

Dates are microseconds since 1970 here, as columns hold them; a span begins at the first and ends before the second.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.index.metadata import microseconds
from zipfian.retrieve._compare import Bools

Span = tuple[int, int]

_PERIOD = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_DAY = 24 * 60 * 60 * 1_000_000


def span_of(value: Any) -> Span | None:
    """The span of a year or a month, written as text; None for anything else.

    >>> span_of("1970"), span_of("1970-02"), span_of("1970-02-01")
    ((0, 31536000000000), (2678400000000, 5097600000000), None)
    """
    found = _PERIOD.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, first, last = int(found[1]), int(found[2] or 1), int(found[2] or 12)
    if year < 1 or not 1 <= first <= 12:
        return None
    days = calendar.monthrange(year, last)[1]  # the year 10000 has no date of its own
    return _month(year, first), _month(year, last) + days * _DAY


def joined(spans: Iterable[Span]) -> tuple[int, ...]:
    """Beginnings and ends of some spans in order, those that touch made one.

    >>> joined([(5, 7), (1, 3), (3, 4)])
    (1, 4, 5, 7)
    """
    out: list[int] = []
    for start, end in sorted(spans):
        if out and start <= out[-1]:
            out[-1] = max(out[-1], end)
        else:
            out += [start, end]
    return tuple(out)


def within(values: npt.NDArray[Any], bounds: tuple[int, ...]) -> Bools:
    """Which values lie in one of the spans that `joined` made."""
    found: Bools = np.searchsorted(np.array(bounds, np.int64), values, side="right") % 2 == 1
    return found


def _month(year: int, month: int) -> int:
    return microseconds(datetime(year, month, 1, tzinfo=UTC))
