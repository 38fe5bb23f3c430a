"""Both engines are collections: every verb has one signature and one explanation, whichever engine answers."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import zipfian as zf
from zipfian.collection.folder import FolderCollection
from zipfian.collection.protocol import ReadSide
from zipfian.collection.searcher import Searcher
from zipfian.engines import opensearch
from zipfian.engines.opensearch import OpenSearchCollection
from zipfian.engines.opensearch.reader import Reader

ENGINES = [FolderCollection, OpenSearchCollection]


def verbs(kind: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


@pytest.mark.parametrize("engine", ENGINES)
def test_both_are_collections_with_every_verb(engine: Any) -> None:
    assert issubclass(engine, zf.Collection)
    assert not engine.__abstractmethods__


def test_an_engine_has_no_verb_of_its_own_beside_these() -> None:
    assert set(verbs(OpenSearchCollection)) - set(verbs(zf.Collection)) == {"last", "reader"}
    assert set(verbs(FolderCollection)) - set(verbs(zf.Collection)) == {"make_new", "open_old"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [*verbs(zf.Collection), "__len__", "__contains__", "__exit__"])
def test_arguments_and_defaults_are_the_same_and_help_explains_them(engine: Any, name: str) -> None:
    wanted, found = getattr(zf.Collection, name), getattr(engine, name)
    if isinstance(wanted, property):
        assert isinstance(found, property)
        wanted, found = wanted.fget, found.fget
    assert list(inspect.signature(found).parameters.values()) == list(inspect.signature(wanted).parameters.values())
    assert name.startswith("__") or inspect.getdoc(found) or inspect.getdoc(getattr(engine, name))


@pytest.mark.parametrize("name", ["search", "search_many", "add", "delete", "score", "explain", "add_field"])
def test_long_signatures_are_written_once(name: str) -> None:
    for engine in ENGINES:
        assert name not in vars(engine)


@pytest.mark.parametrize("name", ["create", "open"])
def test_what_makers_share(name: str) -> None:
    shared = {"fields" if name == "create" else "mode", "encodings", "pictures"}
    for maker in (getattr(zf.Collection, name), getattr(opensearch, name)):
        assert shared <= set(inspect.signature(maker).parameters)


@pytest.mark.parametrize("side", [Searcher, Reader])
def test_both_read_sides_have_what_fusion_asks_for(side: Any) -> None:
    written = inspect.getsource(side.__init__)
    missing = [
        n for n in vars(ReadSide) if not n.startswith("_") and not hasattr(side, n) and f"self.{n} =" not in written
    ]
    assert not missing
