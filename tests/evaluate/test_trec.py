from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.evaluate.trec import Run, read_qrels, read_run, token, write_qrels, write_run

IDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=8)
RANKINGS = st.lists(
    st.tuples(IDS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=5, unique_by=lambda r: r[0]
)


@given(st.dictionaries(IDS, RANKINGS, min_size=1, max_size=4))
def test_a_run_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    path = tmp_path_factory.mktemp("runs") / "x.run"
    write_run(path, run, "mine")
    assert read_run(path) == run


def test_ranks_decide_the_order(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("q Q0 b 2 0.5 t\nq Q0 a 1 0.9 t\n\n")
    assert read_run(tmp_path / "r") == {"q": [("a", 0.9), ("b", 0.5)]}


def test_qrels_come_back(tmp_path: Path) -> None:
    qrels = {"q": {"a": 1, "b": 0}, "r": {"c": 2}}
    write_qrels(tmp_path / "q", qrels)
    assert read_qrels(tmp_path / "q") == qrels


def test_spaces_in_ids_stay_one_column(tmp_path: Path) -> None:
    write_run(tmp_path / "r", {"q 1": [("a\u00a0b", 1.0)]}, "t")
    assert (tmp_path / "r").read_text() == "q%201 Q0 a%C2%A0b 1 1.0 t\n"
    with pytest.raises(InvalidInput, match="must not be empty"):
        token("")


@pytest.mark.parametrize(
    ("text", "problem"), [("q Q0 d 1 0.5\n", r":1: 'query Q0"), ("q Q0 d x 0.5 t\n", r":1:"), ("", "holds no run")]
)
def test_bad_runs(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "r").write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        read_run(tmp_path / "r")


@pytest.mark.parametrize(("text", "problem"), [("q 0 d\n", ":1:"), ("q 0 d yes\n", ":1:"), ("", "no judgements")])
def test_bad_qrels(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        read_qrels(tmp_path / "q")
