"""What every encoder promises, and how its fingerprint is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from zipfian.types import Encoded

Item = TypeVar("Item", contravariant=True)

Progress = Callable[[int, int], None]
"""Called with (done, total) while something long is under way; bytes for weights, items for encoding."""


@runtime_checkable
class Encoder(Protocol[Item]):
    """A frozen network: one item in, the vectors of its tokens or patches and one pooled vector out.

    An item's result never depends on what else is encoded with it. Documents and queries are separate verbs because
    some models treat them differently; where a model does not, both do the same.
    """

    @property
    def kind(self) -> Literal["text", "image"]:
        """What an item is."""

    @property
    def dim(self) -> int:
        """Components of a token vector, all chosen layers together."""

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same item could get other vectors."""

    def encode_documents(self, items: Sequence[Item], *, progress: Progress | None = None) -> list[Encoded]:
        """Encode items that will be found; the results are in the order of the items."""

    def encode_queries(self, items: Sequence[Item], *, progress: Progress | None = None) -> list[Encoded]:
        """Encode items to search with."""

    def stream_documents(self, items: Iterable[Item]) -> Iterator[Encoded]:
        """As `encode_documents`, a bounded number of items at a time, for collections larger than memory."""


def fingerprint(name: str, settings: Mapping[str, Any]) -> str:
    """`name:hash`, where the hash covers everything in `settings`."""
    known = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{name}:{hashlib.sha256(known.encode()).hexdigest()[:20]}"
