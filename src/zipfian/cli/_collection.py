"""The one place where the command line meets `zipfian.Collection`; imported late, so `--help` stays light."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zipfian.cli import _allowed
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.collection import Collection


def collection_class() -> type[Collection]:
    """The class, loaded on first use."""
    from zipfian.collection import Collection

    return Collection


Place = Path | str
"""Where a collection is: a folder, or the address of one in a cluster."""

WHERE = "the collection: a folder or opensearch://host:9200/name"


def place(text: str) -> Place:
    """A folder, or an address as it was typed: as a path it would lose one of its slashes."""
    return text if "://" in text else Path(text)


def folder_of(where: Place, instead: str) -> Path:
    """The folder of a collection, for what only a folder can do; `instead` says what to do with a cluster."""
    if isinstance(where, str):
        raise InvalidInput(f"{where} is in a cluster: {instead}")
    return where


def how_to_add(where: Place, field: str) -> str:
    """What to type, or to do, for one more field."""
    if isinstance(where, str):
        return f"a cluster takes no new fields: create another index with {field!r} and fill it"
    return f"zipfian index --into {where} --add-field {field}"


def add_trust(parser: argparse.ArgumentParser) -> None:
    """What a collection may read outside its folder: options of the commands that load models or open pictures."""
    parser.add_argument(
        "--trust", action="append", metavar="MODEL",
        help="a model of the hub or a folder of one that the collection names and that may be loaded; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--pictures", action="append", type=Path, metavar="FOLDER",
        help="a folder whose pictures may be opened for explanations, even if they have changed since; may be repeated",
    )  # fmt: skip


def trusted(args: argparse.Namespace) -> dict[str, Any]:
    """What was typed, now or to make a collection, as arguments of `Collection.open`; nothing where nothing was."""
    typed = {name: list(given) for name in ("trust", "pictures") if (given := getattr(args, name, None))}
    allowed = [*typed.get("trust", ()), *_allowed.names()]
    return {**typed, "trust": allowed} if allowed else typed


@contextmanager
def opened(path: Place, mode: Literal["r", "w"] = "r", **options: Any) -> Iterator[Collection]:
    """An existing collection, closed at the end; what was not committed is dropped."""
    with closing(collection_class().open(path, mode=mode, **options)) as collection:
        yield collection
