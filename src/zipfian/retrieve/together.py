"""Queries that will be asked of one searcher, one by one and on any thread: whoever asks first scans for several.

A batch of searches does not know beforehand how deep each will look, so nothing is scanned ahead; the first to ask says
it, and its scan, which has to read every row anyway, takes some of the others along.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from zipfian.retrieve.codes import DenseQuery

Found = TypeVar("Found")

TOGETHER = 8
"""Queries that share one reading of the codes: more gain little, and each needs room for its own candidates."""


class Expected(Generic[Found]):
    """Some queries that are expected, and what was found for them."""

    def __init__(self, queries: Sequence[DenseQuery]) -> None:
        self._waiting = {query.vector.tobytes(): query for query in queries}
        self._found: dict[tuple[bytes, int], Future[Found]] = {}
        self._lock = threading.Lock()

    def find(
        self, query: DenseQuery, k: int, scan: Callable[[Sequence[DenseQuery], int], Sequence[Found]]
    ) -> Found | None:
        """What was found for a query, by `scan` now or with another before; None where it is not expected."""
        key = query.vector.tobytes()
        with self._lock:
            found = self._found.get((key, k))
            group: list[DenseQuery] = []
            if found is None:
                if key not in self._waiting:
                    return None
                names = [key, *(name for name in self._waiting if name != key)][:TOGETHER]
                group = [self._waiting.pop(name) for name in names]
                answers: list[Future[Found]] = [Future() for _ in names]
                self._found |= {(name, k): answer for name, answer in zip(names, answers, strict=True)}
                found = answers[0]
        if group:
            try:
                for answer, one in zip(answers, scan(group, k), strict=True):
                    answer.set_result(one)
            except BaseException as error:
                for answer in answers:
                    answer.set_exception(error)
                raise
        return found.result()
