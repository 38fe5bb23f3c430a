from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.evaluate.trec import Run, token, write_run

ir_measures = pytest.importorskip("ir_measures")

IDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=8)
RANKINGS = st.lists(
    st.tuples(IDS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=5, unique_by=lambda r: r[0]
)


@given(st.dictionaries(IDS, RANKINGS, min_size=1, max_size=4))
def test_others_read_a_run_as_it_was(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    path = tmp_path_factory.mktemp("runs") / "x.run"
    write_run(path, run, "mine")
    found: dict[str, list[tuple[str, float]]] = {}
    for row in ir_measures.read_trec_run(str(path)):
        found.setdefault(row.query_id, []).append((row.doc_id, row.score))
    assert found == run


def test_spaces_in_ids_stay_one_column(tmp_path: Path) -> None:
    write_run(tmp_path / "r", {"q 1": [("a\u00a0b", 1.0)]}, "t")
    assert (tmp_path / "r").read_text() == "q%201 Q0 a%C2%A0b 1 1.0 t\n"
    with pytest.raises(InvalidInput, match="must not be empty"):
        token("")
