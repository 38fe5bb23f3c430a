"""The collections of a service, by name, each at its newest commit."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from zipfian import limits
from zipfian.collection import Collection
from zipfian.errors import InvalidInput, LimitExceeded, Refused, ZipfianError, shown

log = logging.getLogger("zipfian.serve")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Served:
    """One collection of a service."""

    name: str
    collection: Collection
    writable: bool = False
    engine: str = "folder"


class Shelf:
    """Open collections by name. A thread looks for new commits; a search that runs keeps the snapshot it began with."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._served: dict[str, Served] = {}
        for one in served:
            if one.name in self._served:
                raise InvalidInput(
                    f"two collections are called {one.name!r}: name one of them, as in other={one.name}.zf"
                )
            self._served[one.name] = one
        if len(self._served) > limits.MAX_SERVED_COLLECTIONS:
            raise LimitExceeded(
                f"{len(self._served)} collections, and one service has {limits.MAX_SERVED_COLLECTIONS} at most"
            )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def __getitem__(self, name: str) -> Served:
        found = self._served.get(name)
        if found is None:
            raise Refused(
                404, "unknown_collection",
                f"there is no collection {shown(name)}; GET /v1/collections lists those there are",
            )  # fmt: skip
        return found

    def writer(self, name: str) -> Collection:
        """The collection, where it may be changed."""
        found = self[name]
        if not found.writable:
            raise Refused(
                403, "read_only", f"{name} is served for reading; whoever runs the service can start it with --write"
            )
        return found.collection

    def follow(self, seconds: float) -> None:
        """Begin to look for commits of other processes."""
        self._thread = threading.Thread(target=self._follow, args=(seconds,), name="zipfian-refresh", daemon=True)
        self._thread.start()

    def _follow(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            self.refresh()

    def refresh(self) -> None:
        """See the newest commits. What goes wrong is logged, and the commit at hand serves on."""
        for one in self:
            try:
                before = one.collection.generation
                after = one.collection.refresh()
            except (ZipfianError, OSError) as error:
                log.warning("cannot look for a new commit", extra={"collection": one.name, "error": repr(error)})
                continue
            if after != before:
                log.info("new commit", extra={"collection": one.name, "generation": after})

    def close(self) -> None:
        """Stop looking, and close the collections."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for one in self:
            one.collection.close()


def open_shelf(places: Iterable[str], *, write: bool = False, **options: Any) -> Shelf:
    """Open what was named: `PATH`, or `NAME=PATH`; `options` are those of `Collection.open`."""
    opened: list[Served] = []
    try:
        for given in places:
            name, place = named(given)
            engine, sep, _ = place.partition("://")
            collection = Collection.open(place, "w" if write else "r", **options)
            opened.append(Served(name, collection, write, engine if sep else "folder"))
        if not opened:
            raise InvalidInput("nothing to serve: name at least one collection")
        return Shelf(opened)
    except BaseException:
        for one in opened:
            one.collection.close()
        raise


def named(given: str) -> tuple[str, str]:
    """A collection's name in the service, and where it is: `notes=/data/n.zf`, or `/data/notes.zf`, called notes."""
    name, sep, place = given.partition("=")
    if not sep or not _NAME.fullmatch(name):
        place = given
        name = PurePath(given.rstrip("/")).name.removesuffix(".zf")
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{shown(given)}: a name in the service has letters, digits and . _ -, 64 at most; give one: NAME=PATH"
        )
    return name, place
