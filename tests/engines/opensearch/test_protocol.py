"""Both engines have the same verbs with the same arguments; mypy checks the types, this the names and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from zipfian.collection import Collection
from zipfian.collection.protocol import AnyCollection, ReadSide
from zipfian.collection.view import View
from zipfian.engines.opensearch import OpenSearchCollection
from zipfian.engines.opensearch.reader import Reader

MAKERS = {"create", "open"}
"""An engine has settings of its own here."""


def verbs(kind: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_") and name not in MAKERS}


def test_the_protocol_has_every_verb_of_a_collection() -> None:
    assert set(verbs(AnyCollection)) == set(verbs(Collection)) - {"view"}  # each engine's own read side


def test_a_cluster_has_no_verb_of_its_own_beside_these() -> None:
    assert set(verbs(OpenSearchCollection)) - set(verbs(Collection)) == {"copy_from", "last", "reader"}


@pytest.mark.parametrize("engine", [Collection, OpenSearchCollection])
@pytest.mark.parametrize("name", [*verbs(AnyCollection), "__len__", "__contains__", "__exit__"])
def test_arguments_defaults_and_types_are_the_same(engine: Any, name: str) -> None:
    wanted, found = vars(AnyCollection)[name], vars(engine)[name]
    if isinstance(wanted, property):
        assert isinstance(found, property)
        wanted, found = wanted.fget, found.fget
    assert inspect.signature(found) == inspect.signature(wanted)


@pytest.mark.parametrize("engine", [Collection, OpenSearchCollection])
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_what_makers_share(engine: Any, name: str) -> None:
    shared = {"path" if engine is Collection else "address", "legs" if name == "create" else "mode", "encodings"}
    assert shared <= set(inspect.signature(getattr(engine, name)).parameters)


@pytest.mark.parametrize("side", [View, Reader])
def test_both_read_sides_have_what_fusion_asks_for(side: Any) -> None:
    written = inspect.getsource(side.__init__)
    missing = [
        n for n in vars(ReadSide) if not n.startswith("_") and not hasattr(side, n) and f"self.{n} =" not in written
    ]
    assert not missing
