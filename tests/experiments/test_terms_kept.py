"""The table of terms kept: who chooses, what is measured, and what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import terms_kept
from experiments.catalogue import run_table
from experiments.terms_kept import DEFAULT, SETTINGS, Kept
from tests.evaluate.conftest import write_beir
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import holm, paired

BEST = SETTINGS[6]


def found(name: str, kept: Kept, half: str) -> dict[str, MethodResult]:
    """One setting is best by the hybrid on even queries; another one, alone and on the odd ones."""
    out = {}
    for method in terms_kept.METHODS:
        rng = np.random.default_rng(sum(f"{name} {half} {kept.name}".encode()))
        wanted = BEST if (method, half) == ("hybrid", "even") else SETTINGS[3]
        values = {f"q{i}": float(v) for i, v in enumerate(0.1 * rng.random(9) + (0.5 if kept == wanted else 0.2))}
        out[method] = MethodResult(method, {}, {"ndcg@10": values}, {"ndcg@10": float(np.mean(list(values.values())))})
    return out


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    def trial(dataset: Any, halves: Sequence[str]) -> Any:
        return {
            kept: {"postings": 10.0 * at} | {half: found(dataset.name, kept, half) for half in halves}
            for at, kept in enumerate(SETTINGS)
        }

    monkeypatch.setattr(terms_kept, "trial", trial)
    return {name: write_beir(tmp_path / name) for name in ("cacm", "other", "scifact")}


def test_even_queries_choose_by_the_hybrid_and_what_did_not_choose_is_tested(folders: dict[str, Path]) -> None:
    made = run_table("terms-kept", folders)
    assert made.notes[1].startswith(f"chosen: {BEST.name}; the default is {DEFAULT.name}")
    for row in made.rows:
        if row["dataset"] != "mean":
            chooses = row["dataset"] != "other"
            assert ("hybrid, even" in row, "hybrid, all" in row) == (chooses, not chooses)
    tests = {}
    for name in folders:
        for method in ("latent", "hybrid"):
            half = "all" if name == "other" else "odd"
            before, after = (found(name, kept, half)[method].per_query["ndcg@10"] for kept in (DEFAULT, BEST))
            tests[name, method] = paired(before, after)
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    for method, note in zip(("latent", "hybrid"), made.notes[2:], strict=True):
        for name in folders:
            assert f"{name} {tests[name, method].difference:+.4f} (p {corrected[name, method]:.3f})" in note


def test_means_are_of_one_setting(folders: dict[str, Path]) -> None:
    made = run_table("terms-kept", folders)
    means = [row for row in made.rows if row["dataset"] == "mean"]
    assert made.brief is not None and list(made.brief.rows) == means and "dataset" not in made.brief.columns
    assert [row["postings"] for row in means] == [10.0 * at for at in range(len(SETTINGS))]
    even = [found(name, BEST, "even")["hybrid"].values["ndcg@10"] for name in ("cacm", "scifact")]
    assert means[6]["hybrid, even"] == pytest.approx(sum(even) / 2)
    assert means[6]["latent, all"] == found("other", BEST, "all")["latent"].values["ndcg@10"]


def test_without_choosers_nothing_is_chosen(folders: dict[str, Path]) -> None:
    made = run_table("terms-kept", {"other": folders["other"]})
    assert made.notes[1].startswith(f"chosen: {DEFAULT.name}") and len(made.notes) == 2


def test_a_trial_asks_each_field_alone_and_in_the_hybrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = (SETTINGS[0], SETTINGS[-1])
    monkeypatch.setattr(terms_kept, "SETTINGS", chosen)
    made = terms_kept.trial(load_beir(write_beir(tmp_path / "other")), ["all"])
    assert made[chosen[1]]["postings"] > made[chosen[0]]["postings"] > 0
    for kept in chosen:
        result = made[kept]["all"]
        assert list(result) == ["latent", "hybrid"] and 0 < result["hybrid"].values["ndcg@10"] <= 1
    assert chosen[1].field().scoring.k1 == 8.0 and chosen[0].field().scoring.k1 == 4.0
