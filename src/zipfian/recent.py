"""What was used last, as much of it as a budget of bytes allows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, for any thread; those not asked for longest make room for new ones.

    Examples
    --------
    >>> kept = Recent[str, bytes](10)
    >>> for name in ("a", "b", "c"):
    ...     kept.put(name, b"some", 4)
    >>> kept.get("a"), kept.get("c"), kept.nbytes
    (None, b'some', 8)
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.nbytes = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """What is kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, nbytes: int) -> None:
        """Keep a value of so many bytes; one larger than the whole budget is not kept."""
        with self._lock:
            before = self._kept.pop(key, None)
            self.nbytes -= 0 if before is None else before[1]
            if nbytes > self.budget:
                return
            self._kept[key] = (value, nbytes)
            self.nbytes += nbytes
            while self.nbytes > self.budget:
                _, (_, size) = self._kept.popitem(last=False)
                self.nbytes -= size
