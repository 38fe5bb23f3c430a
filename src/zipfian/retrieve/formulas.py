"""Posting lists under other formulas than the usual one: impacts are made list by list, and kept for a few formulas.

A search that brings its own formula, and a sweep over settings, ask the same terms again and again. The first search
for a term pays for its impacts; later ones are as quick as those of the usual formula.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from zipfian.retrieve.cache import PostingCache
from zipfian.retrieve.scoring import Scoring

KEPT = 4
"""Formulas whose impacts are kept; the one not asked for longest makes room."""

SHARE = 8
"""A formula other than the usual gets an eighth of its budget of bytes: all of them together, half."""


class OtherFormulas:
    """A cache of posting lists for each of the formulas asked for last, for any thread."""

    def __init__(self, make: Callable[[Scoring], PostingCache]) -> None:
        self._make = make
        self._kept: OrderedDict[Scoring, PostingCache] = OrderedDict()
        self._lock = threading.Lock()

    def under(self, scoring: Scoring) -> PostingCache:
        """The lists of a formula; a search under way keeps what it holds when they make room."""
        with self._lock:
            found = self._kept.get(scoring)
            if found is None:
                found = self._kept[scoring] = self._make(scoring)
            self._kept.move_to_end(scoring)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found

    @property
    def nbytes(self) -> int:
        """Bytes of the lists and norms held now."""
        with self._lock:
            return sum(cache.nbytes + cache.norm.nbytes for cache in self._kept.values())
