"""The table that says whether the hybrid is worth it: which figures it averages, tests and corrects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import fusion
from experiments.catalogue import run_table
from tests.evaluate.conftest import DOCS, write_beir
from tests.toys import ToyText, toy_vocabulary
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput
from zipfian.evaluate.results import Report
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import holm, paired
from zipfian.fields import Dense, Latent

LEVEL = {"words": 0.4, "latent": 0.5, "latent-table": 0.6, "dense": 0.3, "rrf": 0.55, "hybrid": 0.56}


def result(method: str, values: Sequence[float]) -> MethodResult:
    per_query = {f"q{i}": float(v) for i, v in enumerate(values)}
    return MethodResult(method, {}, {"ndcg@10": per_query}, {"ndcg@10": float(np.mean(values))})


def report(name: str, n: int = 20) -> Report:
    """Noise around LEVEL that is the same every time and another for each collection."""
    rng = np.random.default_rng(sum(name.encode()))
    found = {m: result(m, level + 0.1 * rng.standard_normal(n)) for m, level in LEVEL.items()}
    return Report(name, "text", 100, n, found)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    def compare(dataset: Any, names: Sequence[str], options: Any) -> Report:
        assert not options.timed and set(names) == set(LEVEL)
        return report(dataset.name)

    monkeypatch.setattr(fusion, "compare", compare)
    return {name: write_beir(tmp_path / name) for name in ("scifact", "limit-small", "nfcorpus", "other")}


def test_every_comparison_is_corrected_for_all(folders: dict[str, Path]) -> None:
    made = run_table("fusion", folders)
    rows = {row["dataset"]: row for row in made.rows}
    raw = []
    for name in folders:
        results = report(name).results
        best = max(("words", "latent", "dense"), key=lambda m: results[m].values["ndcg@10"])
        for word, against in (("field", best), ("rrf", "rrf")):
            test = paired(results[against].per_query["ndcg@10"], results["hybrid"].per_query["ndcg@10"])
            assert rows[name][f"over {word} p"] == test.p and rows[name][f"over {word}"] == test.difference
            raw.append(test.p)
        assert rows[name]["best field"] == best  # never the table, which is latent by another way
    assert [rows[name][f"over {w} Holm p"] for name in folders for w in ("field", "rrf")] == holm(raw)
    assert holm(raw) != raw


def test_means_leave_limit_small_out_and_keep_choosers_apart(folders: dict[str, Path]) -> None:
    rows = {row["dataset"]: row for row in run_table("fusion", folders).rows}
    assert [name for name, row in rows.items() if row.get("chose")] == ["scifact", "limit-small"]
    assert rows["mean, chose"]["hybrid"] == rows["scifact"]["hybrid"]
    unseen = rows["mean, no part in any choice"]
    assert unseen["rrf"] == pytest.approx((rows["nfcorpus"]["rrf"] + rows["other"]["rrf"]) / 2)


def test_the_page_shows_both_fusions_and_both_tests(folders: dict[str, Path]) -> None:
    text = run_table("fusion", folders).markdown()
    head = "| dataset | queries | words | latent | latent-table | dense | rrf | hybrid | best field | over field |"
    assert head in text and "over rrf Holm p" in text
    assert "had no part in any choice: nfcorpus, other." in text and "Holm's correction" in text


def test_seeds_are_spread_around_their_mean(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shift = {"text-16k": 0.0, "one": 0.02, "two": -0.04}

    def measured(dataset: Any, vocabulary: Any) -> dict[str, MethodResult]:
        name = vocabulary if isinstance(vocabulary, str) else vocabulary.name
        far = 0.4 if dataset.name == "limit-small" else 0.0
        return {m: result(m, [LEVEL[m] + shift[name] + far]) for m in fusion.SEEDED}

    monkeypatch.setattr(fusion, "_measured", measured)
    monkeypatch.setattr(fusion, "_encoded", lambda dataset, makers: None)
    made = run_table("seeds", {**folders, "sae-1": Path("one"), "sae-2": Path("two")})
    row = next(r for r in made.rows if r["dataset"] == "other" and r["method"] == "hybrid")
    assert (row["shipped"], row["seed 1"], row["seed 2"]) == pytest.approx((0.56, 0.58, 0.52))
    assert (row["mean"], row["least"], row["most"]) == pytest.approx((0.56 - 0.02 / 3, 0.52, 0.58))
    mean = next(r for r in made.rows if r["dataset"] == "mean without limit-small" and r["method"] == "latent")
    assert mean["seed 1"] == pytest.approx(0.52)
    with pytest.raises(InvalidInput, match="needs sae-1: give --data"):
        run_table("seeds", folders)


def test_one_pass_serves_all_seeds(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ToyText()
    toys = {"text-16k": toy_vocabulary(tmp_path / "a"), "b": toy_vocabulary(tmp_path / "b", k=3)}

    class OwnCache(EncodingCache):
        def __init__(self) -> None:
            super().__init__(tmp_path / "encodings")

    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)
    monkeypatch.setattr(fusion, "Latent", lambda vocabulary: Latent(toys[str(vocabulary)], encoder=encoder))
    monkeypatch.setattr(fusion, "Dense", lambda source: Dense(encoder=encoder) if source == "text" else None)
    made = run_table("seeds", {"other": folders["other"], "sae-1": Path("b")})
    assert {row["method"]: row["least"] <= row["mean"] <= row["most"] for row in made.rows} == dict.fromkeys(
        fusion.SEEDED, True
    )
    documents = [text for text in encoder.seen if text in DOCS.values()]
    assert len(documents) == len(DOCS)  # and not once more for every vocabulary
