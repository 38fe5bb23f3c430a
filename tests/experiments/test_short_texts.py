"""The table of short texts: what chose, what is measured, and what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import short_texts
from experiments.catalogue import run_table
from tests.evaluate.conftest import write_beir
from zipfian.evaluate.datasets.base import Half
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import holm, paired


def found(name: str, least: int | None, half: str) -> dict[str, MethodResult]:
    rng = np.random.default_rng(sum(f"{name} {half}".encode()))
    out = {}
    for method in short_texts.METHODS:
        gain = 0.0 if least is None else least / 2000
        values = {f"q{i}": float(v) for i, v in enumerate(gain * rng.random(9) + 0.3)}
        mean = float(np.mean(list(values.values())))
        out[method] = MethodResult(method, {}, {"ndcg@10": values}, {"ndcg@10": mean})
    return out


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    def trial(dataset: Any, least: int | None, halves: Sequence[Half]) -> Any:
        return [found(dataset.name, least, half) for half in halves], 50.0 + (least or 0)

    monkeypatch.setattr(short_texts, "trial", trial)
    return {name: write_beir(tmp_path / name) for name in ("cacm", "scifact", "other")}


def test_choosers_are_tested_on_their_odd_half_and_all_tests_corrected_together(folders: dict[str, Path]) -> None:
    rows = run_table("short-texts", folders).rows
    raw, told = [], []
    for name in folders:
        half = "all" if name == "other" else "odd"
        assert [r["least"] for r in rows if r["dataset"] == name] == (
            ["none", 150] if name == "other" else ["none", 60, 100, 150, 200, 250]
        )
        (row,) = (r for r in rows if r["dataset"] == name and r["least"] == 150)
        for method in ("latent", "hybrid"):
            before, after = (found(name, least, half)[method].per_query["ndcg@10"] for least in (None, 150))
            test = paired(before, after)
            assert row[f"{method}: gain"] == test.difference
            raw.append(test.p)
            told.append(row[f"{method}: Holm p"])
        assert row["postings"] == 200.0
        assert ("latent, even" in row) == (name != "other")
    assert told == holm(raw)


def test_means_are_of_the_halves_that_chose(folders: dict[str, Path]) -> None:
    rows = run_table("short-texts", folders).rows
    means = {row["least"]: row for row in rows if row["dataset"] == "mean, even"}
    assert list(means) == ["none", 60, 100, 150, 200, 250]
    both = [found(name, 150, "even")["latent"].values["ndcg@10"] for name in ("cacm", "scifact")]
    assert means[150]["latent, even"] == pytest.approx(sum(both) / 2)
    assert "latent, odd" not in means[150]


def test_a_trial_builds_both_fields_and_counts_postings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def run_all(_: Any, methods: Any, *__: Any) -> dict[str, MethodResult]:
        seen.append(methods)
        return {}

    monkeypatch.setattr(short_texts, "run_all", run_all)
    from zipfian.evaluate.datasets import load_beir

    dataset = load_beir(write_beir(tmp_path / "other"))
    _, few = short_texts.trial(dataset, None, ["all"])
    _, many = short_texts.trial(dataset, 150, ["all"])
    assert many > few > 0
    assert [method.name for method in seen[0]] == ["latent", "hybrid"]
