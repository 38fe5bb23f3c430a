"""What the tables of BM25-V say of their rows: which use each is of, and what of the paper comes back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.bm25v import tables
from experiments.catalogue import run_table
from zipfian.fields import Field, Visual


def row(k: int, ours: float, paper: float | None) -> dict[str, Any]:
    return {"k": k, "R@1": ours, "R@1 paper (CUB)": paper}


def test_a_collapse_is_told_from_none() -> None:
    (note,) = tables._collapse([row(16, 0.8, 0.5), row(128, 0.78, 0.04)])
    assert "from k=16 to k=128 the paper keeps 8% of R@1" in note and "98% stay: the collapse does not happen" in note
    (note,) = tables._collapse([row(16, 0.8, 0.5), row(128, 0.2, 0.04)])
    assert "25% stay: the collapse comes back" in note
    assert not list(tables._collapse([row(16, 0.8, 0.5)])) and not list(
        tables._collapse([row(8, 1, None), row(16, 1, 1)])
    )


def test_bm25_and_dot_are_compared_in_the_use_of_the_paper_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Field] = {}

    def rows(_: Any, fields: Mapping[str, Field], scorings: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
        seen.update(fields)
        return {(name, label): {"R@1": 0.7 if label == "BM25" else 0.6} for name in fields for label in scorings}

    pets = SimpleNamespace(name="pets", n_docs=3, queries={"a": None})
    monkeypatch.setattr(tables, "load_class_folders", lambda _: pets)
    monkeypatch.setattr(tables, "_visual_rows", rows)
    made = run_table("bm25v-bm25-dot", {"pets": Path("pets")})
    assert [(r["use"], r["k_post"], r["scoring"]) for r in made.rows] == [
        (use, k_post, scoring)
        for use, k_post in (("bm25-v", "16"), ("default", "16"), ("default", "all"))
        for scoring in ("BM25", "Dot")
    ]
    assert seen["bm25-v-16"] == Visual(preset="bm25-v")
    assert seen["default-all"] == Visual(k_post=None)
    assert "used as in the paper, 10.0 points lie between them" in made.notes[1]
