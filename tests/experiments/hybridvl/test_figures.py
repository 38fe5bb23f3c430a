"""Training curves from logs, and the efficiency of an index."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from experiments.catalogue import run_table
from experiments.hybridvl.index import efficiency
from zipfian.errors import InvalidInput


def test_training_curves_from_a_log(tmp_path: Path) -> None:
    log = [{"epoch": i, "loss": 1.0 / (i + 1), "t2i_r@10": 0.1 * i} for i in range(3)]
    (tmp_path / "log.json").write_text(json.dumps({"epochs": log}))
    found = run_table("hybridvl-figure2", {"log": tmp_path / "log.json"}, tmp_path / "out")
    assert sorted(found.plots) == ["hybridvl-figure2-loss", "hybridvl-figure2-recall"]
    assert (tmp_path / "out" / "hybridvl-figure2-recall.svg").is_file()
    for bad in ("[]", "{}", "7", '{"members": 3}', "[[1]]"):
        (tmp_path / "log.json").write_text(bad)
        with pytest.raises(InvalidInput, match="not a training log"):
            run_table("hybridvl-figure2", {"log": tmp_path / "log.json"})


def test_training_curves_of_several_heads(tmp_path: Path) -> None:
    """As `tools/train_align.py` keeps them: histories of members with recalls by cutoff, packed."""
    epochs = [{"epoch": i, "loss": 2.0 - i, "t2i": {"1": 0.1 * i, "10": 0.2 * i}} for i in range(3)]
    path = tmp_path / "trials.json.gz"
    path.write_bytes(
        gzip.compress(json.dumps({"members": {"1": {"history": epochs}, "2": {"history": epochs}}}).encode())
    )
    found = run_table("hybridvl-figure2", {"log": path})
    assert list(found.columns) == ["head", "epoch", "loss", "t2i_r@1", "t2i_r@10"] and len(found.rows) == 6
    assert list(found.plots["hybridvl-figure2-loss"].series) == ["loss, head 1", "loss, head 2"]
    assert found.plots["hybridvl-figure2-recall"].series["t2i_r@10"] == [(0, 0.0), (1, 0.2), (2, 0.4)]
    assert found.brief is not None and [row["epoch"] for row in found.brief.rows] == [2, 2]
    path.write_bytes(b"\x1f\x8bno")
    with pytest.raises(InvalidInput, match="not a training log"):
        run_table("hybridvl-figure2", {"log": path})


def test_efficiency_by_hand() -> None:
    rows = [
        {"overlap@10": 1.0, "QPS": 10.0, "index_bytes": 1000},
        {"overlap@10": 0.5, "QPS": 1000.0, "index_bytes": 10},
    ]
    assert efficiency(rows) == pytest.approx([1 / 3, 2.5 / 3])
    rows.append({"overlap@10": 0.0, "QPS": 100.0, "index_bytes": 100})
    assert efficiency(rows)[2] == pytest.approx((0.0 + 0.5 + 0.5) / 3)
    with pytest.raises(InvalidInput):
        efficiency([])
