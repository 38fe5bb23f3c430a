"""Repeated queries: the last few rankings of a snapshot, so that asking again costs no encoder and no search."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from zipfian.collection.plan import SearchPlan
from zipfian.fields.query import Query

Kept = TypeVar("Kept")

SIZE = 64
"""Rankings kept. A query picture's patches take 0.7 MB, a text's word pieces some kilobytes."""


class QueryCache(Generic[Kept]):
    """The most recently used results of one snapshot; safe to use from several threads."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str | None, make: Callable[[], Kept]) -> tuple[Kept, bool]:
        """What is kept under a key, or what `make` gives; and whether it was kept. None is never kept."""
        if key is None:
            return make(), False
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key], True
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made, False


def key_of(query: Query, plan: SearchPlan, k: int, where: Mapping[str, Any] | None, bonus: float) -> str | None:
    """A key that differs wherever the result could; None where telling costs more than searching."""
    known = query.key()
    if known is None:
        return None
    scoring = {name: formula.to_json() for name, formula in plan.scoring.items()}
    try:
        return json.dumps([known, plan.to_json(), plan.query_encoder, scoring, k, where, bonus], sort_keys=True)
    except (TypeError, ValueError):
        return None  # dates and the like in a filter: searched anew
