"""Filters through the facade: what is excluded never appears, k is filled from the rest, and scores do not move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.parts import folder
from zipfian.fields import Sparse, Words

DATES = [date(2020 + n % 5, 1 + n % 12, 1) for n in range(300)]
Check = Callable[[dict[str, Any]], bool]


def document(n: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "n": n, "half": n / 2, "even": n % 2 == 0, "lang": ("en", "de", "fr")[n % 3], "day": DATES[n],
        "tags": ["common"] + (["rare"] if n % 10 == 0 else []),
    }  # fmt: skip
    if n % 4 == 0:
        metadata["sometimes"] = f"v{n % 8}"
    if n % 7 == 0:
        metadata["lang"] = None
    text = "word " * (1 + n % 9) + "other " * (n % 4)
    return {"id": f"d{n}", "text": text, "metadata": metadata, "terms": {"t": {n % 5: 1.0 + n % 3}}}


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zf.Collection]:
    """Several segments, deleted documents, and columns that some segments do not have."""
    path = tmp_path_factory.mktemp("filters") / "c"
    with zf.Collection.create(path, {"words": Words(), "t": Sparse(5)}) as c:
        for start in range(0, 300, 60):
            c.add([document(n) for n in range(start, start + 60)])
            c.commit()
        c.add([{"id": "bare", "text": "word other"}])
        c.commit()
        c.delete([f"d{n}" for n in range(0, 300, 11)])
        c.upsert([document(5), document(6)])
        c.commit()
        yield c


FILTERS: list[tuple[dict[str, Any], Check]] = [
    ({"lang": "en"}, lambda m: m.get("lang") == "en"),
    ({"lang": ["de", "fr"]}, lambda m: m.get("lang") in ("de", "fr")),
    ({"n": {">=": 100, "<": 120}}, lambda m: 100 <= m.get("n", -1) < 120),
    ({"half": {">": 10.25}}, lambda m: m.get("half", 0) > 10.25),
    ({"even": True, "lang": "fr"}, lambda m: m.get("even") is True and m.get("lang") == "fr"),
    ({"day": {">=": date(2023, 1, 1)}}, lambda m: m.get("day", date(1, 1, 1)) >= date(2023, 1, 1)),
    ({"day": datetime(2021, 2, 1, tzinfo=UTC)}, lambda m: m.get("day") == date(2021, 2, 1)),
    ({"tags": "rare"}, lambda m: "rare" in m.get("tags", [])),
    ({"sometimes": {"exists": True}}, lambda m: "sometimes" in m),
    ({"sometimes": {"exists": False}}, lambda m: "sometimes" not in m),
    ({"lang": {"!=": "en"}}, lambda m: m.get("lang") not in (None, "en")),
    ({"not": {"lang": "en"}}, lambda m: m.get("lang") != "en"),
    ({"or": [{"n": 3}, {"n": 5}, {"sometimes": "v4"}]}, lambda m: m.get("n") in (3, 5) or m.get("sometimes") == "v4"),
    ({"lang": {"in": []}}, lambda m: False),
    ({}, lambda m: True),
]


@pytest.mark.parametrize(("where", "allowed"), FILTERS, ids=[str(f)[:60] for f, _ in FILTERS])
@pytest.mark.parametrize("query", ["word", "other word", {1: 1.0, 3: 2.0}], ids=str)
def test_k_is_filled_from_what_is_allowed(c: zf.Collection, where: dict[str, Any], allowed: Check, query: Any) -> None:
    everything = c.search(query, 1_000)
    wanted = [(h.id, h.score) for h in everything if allowed(dict(c.get(h.id).metadata))]
    for k in (1, 10, 1_000):
        found = c.search(query, k, where)
        assert [(h.id, h.score) for h in found] == wanted[:k]
        assert [h.rank for h in found] == list(range(1, len(found) + 1))
    ids = [h.id for h in everything[:40]]
    scores = c.score(found.settings["field"], query, ids, where)
    excluded = np.array([not allowed(dict(c.get(i).metadata)) for i in ids])
    assert np.isnan(scores[excluded]).all()
    assert scores[~excluded].tolist() == [h.score for h, out in zip(everything, excluded, strict=False) if not out]


def test_filters_do_not_change_explanations(c: zf.Collection) -> None:
    found = c.search("word other", 5, {"lang": "en"})
    for hit in found:
        tree = found.explain(hit)
        assert tree == c.explain("word other", hit.id)
        assert tree.details["N"] == len(c)


def test_a_filter_survives_a_reopened_collection(c: zf.Collection) -> None:
    with zf.Collection.open(folder(c)._directory.path) as again:
        for where, _ in FILTERS:
            one, two = (x.search("word", 20, where) for x in (c, again))
            assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in two]


def test_integers_become_numbers_and_empty_lists_become_lists(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c") as c:
        c.add([{"id": "a", "text": "x", "metadata": {"n": 2**60, "tags": []}}])
        c.commit()
        assert c.columns == {"n": "integer", "tags": "list"}
        assert not c.search("x", where={"tags": "y"})
        c.add([{"id": "b", "text": "x", "metadata": {"n": 0.5, "tags": ["y"]}}])
        c.commit()
        assert c.columns == {"n": "number", "tags": "list[string]"}
        c.merge()
        c.commit()
        assert [h.id for h in c.search("x", where={"n": 2**60})] == ["a"]
        assert not c.search("x", where={"n": 2**60 + 1})
        assert [h.id for h in c.search("x", where={"tags": "y"})] == ["b"]
        assert c.get("a").metadata == {"n": 2**60, "tags": []}
