"""The tables about gte-small: what is tested against what, which half is measured, and what a row says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import quality
from experiments.catalogue import run_table
from tests.evaluate.conftest import write_beir
from tests.toys import ToyText
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir, take_half
from zipfian.evaluate.results import Report
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import holm, paired

LEVEL = dict(zip(quality.METHODS, (0.3, 0.4, 0.35, 0.32, 0.38, 0.45, 0.46, 0.5), strict=True))


def report(name: str, half: str, n: int = 20) -> Report:
    """Noise around LEVEL that is the same every time and another for each collection and half."""
    rng = np.random.default_rng(sum(f"{name} {half}".encode()))
    found = {}
    for method, level in LEVEL.items():
        values = {f"q{i}": float(v) for i, v in enumerate(level + 0.1 * rng.standard_normal(n))}
        costs = {"index_bytes": 1000 * level, "latency_ms": 2.0}
        mean = float(np.mean(list(values.values())))
        found[method] = MethodResult(method, {}, {"ndcg@10": values}, {"ndcg@10": mean, **costs})
    return Report(name, "text", 100, n, found)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    def compare(dataset: Any, names: Sequence[str], options: Any) -> Report:
        assert tuple(names) == quality.METHODS
        return report(dataset.name, options.half)

    monkeypatch.setattr(quality, "compare", compare)
    return {name: write_beir(tmp_path / name) for name in ("cacm", "scifact", "nfcorpus", "other")}


def test_odd_halves_where_even_ones_chose_and_one_correction_for_all(folders: dict[str, Path]) -> None:
    made = run_table("quality", folders)
    rows = {row["dataset"]: row for row in made.rows}
    raw = []
    for name in folders:
        half = "odd" if name in ("cacm", "scifact") else "all"
        found = {method: result.per_query["ndcg@10"] for method, result in report(name, half).results.items()}
        assert rows[name]["half"] == half
        for method, against in (("high-quality", "hybrid"), ("high-quality", "rrf"), ("gte-small", "dense")):
            test = paired(found[against], found[method])
            assert rows[name][f"{method} over {against}"] == test.difference
            assert test.difference == pytest.approx(rows[name][method] - rows[name][against])
            raw.append(test.p)
    tests = ("high-quality over hybrid", "high-quality over rrf", "gte-small over dense")
    assert [rows[name][f"{test} Holm p"] for name in folders for test in tests] == holm(raw)
    assert [rows[name][f"{test} p"] for name in folders for test in tests] == raw != holm(raw)


def test_means_keep_choosers_apart(folders: dict[str, Path]) -> None:
    rows = {row["dataset"]: row for row in run_table("quality", folders).rows}
    chose, apart = rows["mean, odd halves of those that chose"], rows["mean, no part in any choice"]
    assert chose["high-quality"] == pytest.approx((rows["cacm"]["high-quality"] + rows["scifact"]["high-quality"]) / 2)
    assert apart["gte-small over dense"] == pytest.approx(
        (rows["nfcorpus"]["gte-small over dense"] + rows["other"]["gte-small over dense"]) / 2
    )


def test_costs_add_up_over_the_encoders(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "rates", lambda texts: {"all-minilm-l6-v2": 3000.0, "gte-small": 1500.0})
    rows = {row["method"]: row for row in run_table("quality-cost", {"cacm": folders["cacm"]}).rows}
    speeds = {name: row["tokens/s"] for name, row in rows.items()}
    assert speeds["words"] is None and speeds["hybrid"] == speeds["dense"] == speeds["latent"] == 3000
    assert speeds["gte-small"] == 1500 and speeds["high-quality"] == pytest.approx(1000)
    assert rows["rrf"]["bytes a document"] == pytest.approx(4.5)


def test_rates_are_of_the_best_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock: a slow first round that loads the weights, then one quick one among slow ones."""
    took = {"all-minilm-l6-v2": [99, 5, 2, 5, 5, 5], "gte-small": [99, 9, 9, 9, 4, 9]}
    now = [0.0]

    class Slow(ToyText):
        def __init__(self, model: str, threads: int) -> None:
            super().__init__(model)
            self.left = list(took[model])

        def encode_documents(self, items: Sequence[str], *, progress: Any = None) -> Any:
            now[0] += self.left.pop(0)
            return super().encode_documents(items, progress=progress)

        def count_tokens(self, items: Sequence[str]) -> list[int]:
            return [10 for _ in items]

    monkeypatch.setattr(quality, "TextEncoder", Slow)
    monkeypatch.setattr("time.process_time", lambda: now[0])
    assert quality.rates(["cat", "dog"]) == {"all-minilm-l6-v2": 10.0, "gte-small": 5.0}


@pytest.mark.parametrize("table", ["quality", "quality-weights", "quality-cost"])
def test_data_must_be_given(table: str) -> None:
    with pytest.raises(InvalidInput, match="needs scifact"):
        run_table(table, {})


def test_weights_are_tried_on_even_queries(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def run_all(there: Any, methods: Any, part: Any, keys: Any, depth: int, options: Any) -> dict[str, MethodResult]:
        asked.append(tuple(part.queries))
        return {
            method.name: MethodResult(method.name, {}, {}, {"ndcg@10": method.options["method"].weights["gte-small"]})
            for method in methods
        }

    monkeypatch.setattr(quality, "built", lambda dataset, fields, work: nullcontext(fields))
    monkeypatch.setattr(quality, "run_all", run_all)
    rows = run_table("quality-weights", {"cacm": folders["cacm"]}).rows
    assert asked == [tuple(take_half(load_beir(folders["cacm"]), "even").queries)]
    assert rows[0] == {"dataset": "cacm", "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0, "1.5": 1.5}
    assert rows[1] == {**rows[0], "dataset": "mean"}
