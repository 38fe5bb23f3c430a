"""Encode only what the cache does not have yet."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from zipfian.encode._entry import Array
from zipfian.encode.base import Encoder, Progress, groups
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded

Item = TypeVar("Item")

Compact = Callable[[Encoded], Mapping[str, Array]]
"""Makes of an encoded item the arrays worth keeping, by name; `pooled` is always kept beside them."""

ENTRY_BYTES = 160
"""About what names and checksum take in each entry."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What encoding a set of items will come to, judged by a sample of them."""

    items: int
    tokens: int
    bytes: int


class CachedEncoder(Generic[Item]):
    """An encoder in front of a cache.

    `form` names what `compact` makes: it is part of the key, so another vocabulary or another setting never gets
    the arrays of the first.
    """

    def __init__(self, encoder: Encoder[Item], cache: EncodingCache, compact: Compact, form: str) -> None:
        if not form:
            raise InvalidInput("form is empty; name what `compact` makes, for instance the vocabulary's fingerprint")
        self.encoder = encoder
        self.cache = cache
        self.fingerprint = f"{encoder.fingerprint}\n{form}"
        self.hits = 0
        self.misses = 0
        self._compact = compact

    def documents(self, items: Sequence[Item], *, progress: Progress | None = None) -> Iterator[Mapping[str, Array]]:
        """The arrays of each item, in order, a bounded number of them in memory; a bad item ends it."""
        for outcome in self.try_documents(items, progress=progress):
            if isinstance(outcome, ZipfianError | OSError):
                raise outcome
            yield outcome

    def try_documents(
        self, items: Sequence[Item], *, progress: Progress | None = None
    ) -> Iterator[Mapping[str, Array] | ZipfianError | OSError]:
        """As `documents`, but an item that cannot be encoded gives its error in its place."""
        done = 0
        for group in groups(items):
            yield from self._group(group)
            done += len(group)
            if progress is not None:
                progress(done, len(items))

    def estimate(self, items: Sequence[Item], per_token: int, sample: int = 200) -> Estimate:
        """Tokens, and bytes of cache at so many bytes a token, from items drawn at random (always the same ones)."""
        if not items:
            return Estimate(0, 0, 0)
        chosen = random.Random(0).sample(range(len(items)), min(sample, len(items)))
        counts = self.encoder.count_tokens([items[i] for i in chosen])
        tokens = round(sum(counts) / len(counts) * len(items))
        fixed = ENTRY_BYTES + 4 * self.encoder.pooled_dim
        return Estimate(len(items), tokens, tokens * per_token + len(items) * fixed)

    def _group(self, items: Sequence[Item]) -> list[Mapping[str, Array] | ZipfianError | OSError]:
        results: dict[int, Mapping[str, Array] | ZipfianError | OSError] = {}
        hashes: dict[int, str] = {}
        for i, item in enumerate(items):
            try:
                hashes[i] = content_hash(item, self.encoder.kind)  # type: ignore[arg-type]
            except (ZipfianError, OSError) as error:
                results[i] = error
                continue
            entry = self.cache.get(self.fingerprint, hashes[i])
            if entry is not None:
                results[i] = entry
                self.hits += 1
        missing = [i for i in range(len(items)) if i not in results]
        self.misses += len(missing)
        outcomes = self.encoder.try_documents([items[i] for i in missing]) if missing else []
        for i, outcome in zip(missing, outcomes, strict=True):
            if isinstance(outcome, Encoded):
                arrays = {**self._compact(outcome), "pooled": outcome.pooled}
                self.cache.put(self.fingerprint, hashes[i], arrays)
                results[i] = arrays
            else:
                results[i] = outcome
        return [results[i] for i in range(len(items))]


def pooled_only(encoded: Encoded) -> dict[str, Array]:
    """Keep nothing but the pooled vector."""
    return {}


def everything(encoded: Encoded) -> dict[str, Array]:
    """Keep the full token vectors as well: large."""
    arrays: dict[str, Array] = {"vectors": encoded.vectors, "places": encoded.places, "pieces": encoded.pieces}
    if encoded.grid is not None:
        arrays["grid"] = np.array(encoded.grid, dtype=np.int32)
    return arrays


def restored(arrays: Mapping[str, Array]) -> Encoded:
    """The encoded item again, from what `everything` kept."""
    grid = (int(arrays["grid"][0]), int(arrays["grid"][1])) if "grid" in arrays else None
    return Encoded(arrays["vectors"], arrays["places"], arrays["pieces"], arrays["pooled"], grid)
