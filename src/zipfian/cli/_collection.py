"""The one place where the command line meets `zipfian.Collection`; imported late, so `--help` stays light."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from zipfian.collection import Collection


def collection_class() -> type[Collection]:
    """The class, loaded on first use."""
    from zipfian.collection import Collection

    return Collection


@contextmanager
def opened(path: Path, mode: Literal["r", "w"] = "r") -> Iterator[Collection]:
    """An existing collection, closed at the end; what was not committed is dropped."""
    with closing(collection_class().open(path, mode=mode)) as collection:
        yield collection
