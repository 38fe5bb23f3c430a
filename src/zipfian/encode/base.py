"""What every encoder promises, and how its fingerprint is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

from zipfian.device import Precision
from zipfian.errors import InvalidInput, ZipfianError, shown
from zipfian.types import Encoded

Item = TypeVar("Item", contravariant=True)

Outcome = Encoded | ZipfianError | OSError
"""What became of an item: a caller may skip a bad one or stop there."""

Progress = Callable[[int, int], None]
"""Called with (done, total) while something long is under way; bytes for weights, items for encoding."""


@runtime_checkable
class Encoder(Protocol[Item]):
    """A frozen network: one item in, the vectors of its tokens or patches and one pooled vector out.

    An item's result never depends on what else is encoded with it. Documents and queries are separate verbs because
    some models treat them differently; where a model does not, both do the same.

    Examples
    --------
    >>> from zipfian.encode import ImageEncoder, TextEncoder
    >>> isinstance(TextEncoder(), Encoder), isinstance(ImageEncoder(), Encoder)  # no weights are loaded yet
    (True, True)
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
        """Encode `items` that will be found; results in their order. `progress` is called with (done, total)."""

    def encode_queries(self, items: Sequence[Item], *, progress: Progress | None = None) -> list[Encoded]:
        """Encode items to search with; arguments as for `encode_documents`."""

    def try_documents(self, items: Sequence[Item], *, progress: Progress | None = None) -> list[Outcome]:
        """As `encode_documents`, but one of `items` that cannot be encoded gives its error; `progress` likewise."""

    def count_tokens(self, items: Sequence[Item]) -> list[int]:
        """Tokens of each of `items`, without encoding it; for estimates."""


def languages_of(encoder: object) -> frozenset[str] | None:
    """ISO 639-1 codes of the languages that an encoder reads; None where it does not say, so that all are tried.

    An encoder says so in an attribute `languages`, which is not among the methods it must have: those made before there
    was such an attribute, and those of pictures, stay encoders.
    """
    found = getattr(encoder, "languages", None)
    if found is None:
        return None
    if isinstance(found, str) or not all(isinstance(code, str) for code in found):
        raise InvalidInput(
            f"the languages of an encoder are a set of ISO 639-1 codes such as {{'en', 'de'}}, not {shown(found)}"
        )
    return frozenset(found)


def kept_form(encoder: object, form: str) -> str:
    """The name under which a cache keeps a `form` of an encoder's results: half precision has a name of its own.

    The fingerprint is the same in every precision, because an index made in one is searched in another. A cache is not
    to mix them: whoever asks for float32 gets float32.
    """
    precision = getattr(encoder, "precision", "float32")
    return form if precision == "float32" else f"{form}@{precision}"


def precision_of(kept: str) -> str:
    """The precision in which something was made that a cache keeps under this name, or under a key that ends in it."""
    found = kept.rpartition("@")[2]
    return found if found in get_args(Precision) else "float32"


def plain_form(kept: str) -> str:
    """The name, or the key, without the precision."""
    return kept.removesuffix(f"@{precision_of(kept)}")


def cache_key(encoder: Encoder[Any], form: str) -> str:
    """What the encode cache knows a `form` of an encoder's results by."""
    return f"{encoder.fingerprint}\n{kept_form(encoder, form)}"


def fingerprint(name: str, settings: Mapping[str, Any]) -> str:
    """`name:hash`, where the hash covers everything in `settings`."""
    known = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{name}:{hashlib.sha256(known.encode()).hexdigest()[:20]}"


GROUP_ITEMS = 256
GROUP_CHARS = 400_000
"""Of text, about 90,000 tokens: their vectors take some 140 MB for each chosen layer."""
GROUP_BYTES = 32 * 1024 * 1024
"""Of pictures that are in memory already."""


def at_once(encoder: object) -> int:
    """How many times as many items as usual an encoder takes at once: a GPU wants many to be busy."""
    found: int = getattr(encoder, "at_once", 1)
    return found


def groups(items: Iterable[Any], times: int = 1) -> Iterator[list[Any]]:
    """Consecutive items, as many as are worth encoding together and fit in memory; `times` as many as usual."""
    group: list[Any] = []
    full = 0.0
    for item in items:
        size = 0.0
        if isinstance(item, str | bytes):
            size = len(item) / (GROUP_CHARS if isinstance(item, str) else GROUP_BYTES) / times
        if group and (len(group) >= GROUP_ITEMS * times or full + size > 1.0):
            yield group
            group, full = [], 0.0
        group.append(item)
        full += size
    if group:
        yield group
