"""Metadata that is about this machine: where a picture is and what its file held. Nobody outside sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zipfian.collection.trust import IMAGE_COLUMN
from zipfian.encode.picture_files import HASH_COLUMN, SIZE_COLUMN
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_FILTER_DEPTH

HIDDEN = frozenset({IMAGE_COLUMN, HASH_COLUMN, SIZE_COLUMN})

_JOINING = frozenset({"and", "or", "not"})


def visible(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The rest."""
    return {name: value for name, value in metadata.items() if name not in HIDDEN}


def has_picture(metadata: Mapping[str, Any]) -> bool:
    """Whether a document names a picture."""
    return metadata.get(IMAGE_COLUMN) is not None


def check_columns(names: Any, what: str) -> None:
    """Refuse names of hidden columns."""
    for name in names:
        if name in HIDDEN:
            raise InvalidInput(f"{what}: {name!r} is about the machine that holds the pictures, and not for use here")


def check_filter(where: Mapping[str, Any]) -> None:
    """Refuse a filter that asks for a hidden column, however deep."""
    waiting: list[tuple[Any, int]] = [(where, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > 2 * MAX_FILTER_DEPTH:
            raise LimitExceeded(f"a filter is nested {MAX_FILTER_DEPTH} deep at most")
        if isinstance(node, Mapping):
            check_columns(node.keys() - _JOINING, "where")
            waiting += [(node[name], depth + 1) for name in _JOINING & node.keys()]
        elif isinstance(node, Sequence) and not isinstance(node, str):
            waiting += [(part, depth + 1) for part in node]
