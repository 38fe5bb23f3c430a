from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.evaluate.conftest import write_beir


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "tiny")


def test_one_json_object_with_methods(beir: Path, zipfian: Command) -> None:
    code, out, err = zipfian("eval", "text", beir, "--methods", "words,tfidf", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["methods"]
    assert list(found) == ["words", "tfidf"]
    assert {"ndcg@10", "recall@100", "mrr@10", "map", "latency_ms", "index_bytes"} <= found["words"].keys()
    assert all(isinstance(value, float) for value in found["words"].values())
    assert found["words"]["recall@100"] == 1.0


def test_a_table_for_people(beir: Path, zipfian: Command) -> None:
    code, out, err = zipfian("eval", "text", beir, "--methods", "words,tfidf", "--measures", "ndcg@10,r@1")
    assert code == 0
    assert out.split()[:3] == ["method", "ndcg@10", "r@1"]
    assert "better or worse than words" in err and "5 documents, 4 queries" in err


def test_out_and_work_are_kept(beir: Path, tmp_path: Path, zipfian: Command) -> None:
    code, _, _ = zipfian("eval", "text", beir, "--methods", "words", "--out", tmp_path / "o", "--work", tmp_path / "w")
    assert code == 0
    assert {"report.json", "report.csv", "report.md", "words.run"} <= {p.name for p in (tmp_path / "o").iterdir()}
    assert (tmp_path / "w" / "tiny+words.zf").is_dir()


def test_halves(beir: Path, zipfian: Command) -> None:
    counts = {}
    for half in ("all", "even", "odd"):
        _, out, _ = zipfian("eval", "text", beir, "--methods", "words", "--half", half, "--json")
        counts[half] = json.loads(out)["queries"]
    assert counts["even"] + counts["odd"] == counts["all"] == 4


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--methods", "nonsense"], "unknown method 'nonsense'"),
        (["--methods", "visual"], "does not rank text collections"),
        (["--methods", "words", "--measures", "accuracy"], "unknown measure 'accuracy'"),
        (["--methods", "words", "--split", "dev"], "no such split; there are: test"),
        (["--methods", "words", "--baseline", "dense"], "'dense' is not among: words"),
        (["--methods", ","], "name at least one method"),
    ],
)
def test_mistakes_are_one_clear_line(beir: Path, zipfian: Command, arguments: list[str], problem: str) -> None:
    code, out, err = zipfian("eval", "text", beir, *arguments)
    assert (code, out) == (1, "")
    assert problem in err and err.count("\n") == 1


def test_pictures_that_are_not_there(tmp_path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("eval", "images", tmp_path, "--methods", "visual")
    assert code == 1 and "no such folder" in err
    code, _, err = zipfian("eval", "images", tmp_path, "--holidays", "--ground-truth", tmp_path / "x.json")
    assert code == 1 and "not both" in err


def test_an_empty_caption_split(tmp_path: Path, zipfian: Command) -> None:
    (tmp_path / "c.jsonl").write_text('{"image": "a.jpg", "split": "train", "captions": ["x"]}')
    code, _, err = zipfian("eval", "captions", tmp_path / "c.jsonl", "--images", tmp_path, "--split", "test")
    assert code == 1 and "the split 'test' is empty; there are: train" in err


def test_tuning_a_field(beir: Path, zipfian: Command) -> None:
    grid = ["--k1", "0.9,1.5", "--b", "0.75", "--phi", "identity", "--folds", "2"]
    code, out, _ = zipfian("tune", beir, *grid, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["settings_tried"] == 2
    assert found["best"]["setting"]["k1"] in (0.9, 1.5)
    assert {"held_out", "settings"} == found["tuned"].keys()
    code, out, err = zipfian("tune", beir, *grid)
    assert code == 0 and "tuned, 2-fold" in out and "the fitted figure is no result" in err


def test_tuning_refuses(beir: Path, zipfian: Command) -> None:
    assert zipfian("tune", beir, "--k1", "high")[0] == 2
    code, _, err = zipfian("tune", beir, "--folds", "1", "--k1", "1", "--b", "0.5", "--phi", "sqrt")
    assert code == 1 and "at least 2 folds" in err
    code, _, err = zipfian("tune", beir, "--fields", ",")
    assert code == 1 and "name at least one field" in err
