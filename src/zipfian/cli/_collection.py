"""The one place where the command line meets `zipfian.Collection`; imported late, so `--help` stays light."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from zipfian.errors import IndexNotFound

if TYPE_CHECKING:
    from zipfian.collection import Collection

DEFAULT_LEGS = ("words",)


def collection_class() -> type[Collection]:
    """The class, loaded on first use."""
    from zipfian.collection import Collection

    return Collection


@contextmanager
def opened(path: Path, mode: Literal["r", "w"] = "r") -> Iterator[Collection]:
    """An existing collection, closed at the end; what was not committed is dropped."""
    with closing(collection_class().open(path, mode=mode)) as collection:
        yield collection


@contextmanager
def opened_or_created(path: Path) -> Iterator[Collection]:
    """The collection at `path` for writing, made first if there is none."""
    kind = collection_class()
    try:
        collection = kind.open(path, mode="w")
    except IndexNotFound:
        collection = kind.create(path, legs=list(DEFAULT_LEGS))
    with closing(collection):
        yield collection
