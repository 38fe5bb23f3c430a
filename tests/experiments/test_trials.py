"""Tables of what the training tools wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.catalogue import run_table
from zipfian.errors import InvalidInput

COLLECTIONS = ("scifact", "cisi", "cacm", "limit-small", "nfcorpus", "checkthat2020", "liveqa-med")


def by(value: float) -> dict[str, Any]:
    return {name: {"all": value + 0.01 * i, "postings": 100.0} for i, name in enumerate(COLLECTIONS)}


def recipe(name: str, value: float) -> dict[str, Any]:
    uses = {use: {"by": by(value)} for use in ("paper", "paper, max", "package")}
    return {"name": name, "settings": {"width": 64, "k": 8}, "uses": uses, "fvu": value, "seconds": 2.0}


def test_seeds_of_a_recipe_are_averaged(tmp_path: Path) -> None:
    rows = [recipe("k8-s0", 0.4), recipe("k8-s1", 0.6), recipe("k8-s0@random", 0.1)]
    with gzip.open(tmp_path / "a.json.gz", "wt") as stream:
        json.dump({"epochs": 1.0, "rows": rows}, stream)
    (tmp_path / "b.json").write_text(json.dumps({"epochs": 3.0, "rows": rows[:1]}))
    made = run_table("recipes", {"trials-a": tmp_path / "a.json.gz", "trials-b": tmp_path / "b.json"})
    assert [(row["seeds"], row["epochs"]) for row in made.rows[::3]] == [(2, "1"), (1, "1"), (1, "3")]
    first = made.rows[0]
    assert first["scifact"] == pytest.approx(0.5) and first["mean of four"] == pytest.approx(0.515)
    assert first["of seeds"] == "0.415 to 0.615" and first["unexplained"] == pytest.approx(0.5)
    assert (
        made.rows[3]["autoencoder"] == "top-k on an encoder that was never trained" and made.rows[3]["of seeds"] == ""
    )


def test_trials_say_what_moved(tmp_path: Path) -> None:
    both = {"even": 0.1, "odd": 0.2, "by": by(0.5)}
    said = {"rate": 1e-4, "gain_rate": 0.0, "steps": 1_000}
    rows = [
        {**both, "name": "before sae=-1 k=3", "queries": "encoder"},
        {**both, "name": "slow", "queries": "encoder", "settings": said},
        {**both, "name": "slow taught", "queries": "table", "settings": said},
        {**both, "name": "token weights", "docs": ["idf", 0], "queries_by": ["cos", 0.5]},
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    made = run_table("teaching", {"trials-1": tmp_path / "t.json"})
    assert [row["changed"] for row in made.rows] == [
        "nothing", "projection at 0.0001, 1,000 steps", "query table: taught", "questions: cos to the power 0.5",
    ]  # fmt: skip
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(InvalidInput, match="not JSON"):
        run_table("teaching", {"trials-1": tmp_path / "t.json"})
