"""A search and an add stay short: so many hops between modules, through so many files."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.tools.loading import load


@pytest.fixture(scope="module")
def walk() -> ModuleType:
    (found,) = load("walk")
    return found


def test_the_road_of_a_query_and_of_a_document(walk: ModuleType) -> None:
    """What ARCHITECTURE.md prints. Whoever needs another hop finds one to leave out, or says there why it is longer."""
    found = walk.walks()
    search, add = found["search"], found["add"]
    assert len(search.hops) <= 33 and len(search.files) <= 25, "\n".join(search.lines())
    assert max(search.again.values()) == 2, search.again  # a query is made ready, then searched with
    assert len(add.hops) <= 10 and len(add.files) <= 8, "\n".join(add.lines())


def test_hops_are_counted_between_modules_only(walk: ModuleType) -> None:
    from zipfian.language import possible
    from zipfian.vocabulary import Words

    words = Words()
    words.query("warm dogs")
    found = walk.walk(lambda: words.query("dogs"))
    assert [module for _, module, _ in found.hops][:2] == ["vocabulary/words.py", "vocabulary/_analyser.py"]
    assert found.hops[0] == ("", "vocabulary/words.py", "query")
    assert found.hops[1] == ("vocabulary/words.py", "vocabulary/_analyser.py", "query_terms")
    twice = walk.walk(lambda: (words.query("dogs"), possible("dogs"), words.query("dogs")))
    assert twice.hops == (*found.hops, ("", "language/scripts.py", "possible")) and twice.again == {}
