"""Posting lists of a snapshot, decoded once and kept in the kernels' layout under a byte budget.

Term frequencies are what the files hold; impacts depend on N, df and the mean length of the whole snapshot, so they are
computed here, list by list, when a query first needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.decoded import DecodedLists, Docs, Ints, Weights

if TYPE_CHECKING:
    from zipfian.retrieve.kernels import Postings

KEPT = 2
"""When the budget is used up, the lists asked for most keep one part in so many of it."""


class PostingCache:
    """Decoded lists of one field of one snapshot. Filling is serialised; searches read without a lock."""

    def __init__(
        self, n_docs: int, n_postings: int, norm: npt.NDArray[np.float64], spec: npt.NDArray[np.float64], budget: int,
        weights: npt.DTypeLike = np.float32,
    ) -> None:  # fmt: skip
        """Lists of so many postings at most, with weights of a type, under a formula and a budget of bytes."""
        self.norm = norm
        self.spec = spec
        self.budget = budget
        self.overflows = 0
        """How often lists had to go."""
        self._make = partial(DecodedLists, n_docs, n_postings, weights, budget)
        self._lists = self._make()
        self._postings: Postings | None = None
        """The lists as the kernels read them."""
        self._slots: dict[Hashable, int] = {}
        self._asked = np.zeros(256, np.int64)
        """Of each slot, how many queries had its term, those before an overflow counting half."""
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the lists held now."""
        return self._lists.nbytes

    def lists(
        self, terms: Sequence[Hashable], df: Ints, load: Callable[[int], tuple[Docs, Weights]]
    ) -> tuple[Postings, Ints] | None:
        """The lists of a query's terms (df > 0), loading those not yet here; None if they exceed the budget.

        `load(i)` decodes the list of the i-th term: documents ascending, weights.
        """
        with self._lock:
            missing = [i for i, term in enumerate(terms) if term not in self._slots]
            if missing:
                need = sum(self.cost(int(df[i])) for i in missing)
                if self.nbytes + need > self.budget:
                    in_all = sum(self.cost(int(n)) for n in df)
                    if in_all > self.budget:
                        return None
                    self._make_room(in_all)
                    missing = [i for i, term in enumerate(terms) if term not in self._slots]
                for i in missing:
                    self._slots[terms[i]] = self._lists.fill(*load(i), self.norm, self.spec)
            if missing or self._postings is None:  # a new list may have moved the table of slots
                self._postings = self._lists.postings()
            slots = np.array([self._slots[term] for term in terms], np.int64)
            self._count(slots)
            return self._postings, slots

    def cost(self, df: int) -> int:
        """The most bytes that a list of so many documents takes."""
        return self._lists.cost(df)

    def _count(self, slots: Ints) -> None:
        """These were asked for."""
        if len(self._slots) > len(self._asked):
            self._asked = np.concatenate([self._asked, np.zeros(len(self._slots), np.int64)])
        self._asked[slots] += 1

    def _make_room(self, need: int) -> None:
        """Keep what is asked for most, in new arrays: searches under way read on in the old ones.

        What a list saves and what it takes both grow with its length, so how often it is asked for is what tells lists
        apart; of two asked for alike, the later one stays. Copying half of a budget costs less than decoding the other
        half, which is what fills it again.
        """
        old, asked, sizes = self._lists, self._asked, self._lists.sizes()
        terms = {slot: term for term, slot in self._slots.items()}
        room = min(self.budget // KEPT, self.budget - need)
        self._lists, self._slots, self._asked = self._make(), {}, np.zeros(len(asked), np.int64)
        for slot in np.lexsort((-np.arange(len(sizes)), -asked[: len(sizes)])).tolist():
            if self.nbytes + sizes[slot] <= room:
                copied = self._slots[terms[slot]] = self._lists.copy(old, slot)
                self._asked[copied] = asked[slot] // 2
        self.overflows += 1
