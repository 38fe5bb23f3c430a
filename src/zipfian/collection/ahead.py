"""Results of encoders that were made before anybody asked for them: they wait here until their documents are taken.

A GPU is busy only if it is given the next texts while documents before them are still being written. So texts may be
read ahead, on other threads; taking documents then finds what it would have had to wait for, and does all else in the
order and in the way it always does. What was read ahead in vain costs time and changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from zipfian.encode.cache import EncodingCache
from zipfian.storage.packed import Array

Arrays = Mapping[str, Array]


class Waiting:
    """What the encoders made of some texts, until `close`. Used as the cache of a pass, it takes all that is made."""

    def __init__(self, ahead: Ahead, cache: EncodingCache | None) -> None:
        self._ahead = ahead
        self._cache = cache
        self.found: dict[tuple[str, str], Arrays] = {}
        """By fingerprint and content, as in a cache."""

    def get(self, fingerprint: str, content: str) -> Arrays | None:
        """What this batch has already, or the cache has from before."""
        known = self.found.get((fingerprint, content))
        if known is None and self._cache is not None:
            known = self._cache.get(fingerprint, content)
            if known is not None:
                self.found[fingerprint, content] = known
        return known

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Arrays) -> None:
        """Take what `encoder` has just made."""
        self.found[fingerprint, content] = arrays
        if self._cache is not None:
            self._cache.keep(encoder, fingerprint, content, arrays)

    def close(self) -> None:
        """The documents are taken: nothing waits for them any longer."""
        self._ahead.forget(self)

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Ahead:
    """The encode cache, with what waits in front of it; safe to share between threads."""

    def __init__(self, cache: EncodingCache | None) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._waiting: tuple[Waiting, ...] = ()

    def begin(self) -> Waiting:
        """Room for the results of one batch."""
        return Waiting(self, self._cache)

    def hold(self, waiting: Waiting) -> None:
        """Find a batch from now on, until it is closed."""
        with self._lock:
            self._waiting = (*self._waiting, waiting)

    def forget(self, waiting: Waiting) -> None:
        """Find a batch no longer."""
        with self._lock:
            self._waiting = tuple(one for one in self._waiting if one is not waiting)

    def get(self, fingerprint: str, content: str) -> Arrays | None:
        """What was read ahead, or the cache has."""
        for waiting in self._waiting:
            if (found := waiting.found.get((fingerprint, content))) is not None:
                return found
        return None if self._cache is None else self._cache.get(fingerprint, content)

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Arrays) -> None:
        """Keep in the cache what `encoder` has just made."""
        if self._cache is not None:
            self._cache.keep(encoder, fingerprint, content, arrays)
