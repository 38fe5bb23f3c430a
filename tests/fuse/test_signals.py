"""The signal that sets the weight of words: what of a query its best document has."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.retrieve.segments import write
from zipfian.fuse import coverage
from zipfian.index.field import FieldWriteSpec
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.searcher import FieldSearcher

COUNT = FieldWriteSpec("count", 1.0)


def asked(folder: Path, query: dict[str, float], scoring: Scoring) -> float | None:
    """Twenty documents of four words; one has both rare words."""
    rows = [{"the": 1.0, "likes": 1.0, f"a{i}": 1.0, f"b{i}": 1.0} for i in range(19)]
    rows.append({"the": 1.0, "likes": 1.0, "rare": 1.0, "odd": 1.0})
    searcher = FieldSearcher("t", write(folder / "c", [rows], COUNT), scoring)
    prepared = searcher.prepare(query)
    _, scores = searcher.search(prepared, 5)
    return coverage(searcher, query, prepared, float(scores[0]) if len(scores) else 0.0)


@pytest.mark.parametrize("variant", ["zipfian", "lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_all_of_it(tmp_path: Path, variant: str) -> None:
    formula = zf.BM25(variant=variant)  # type: ignore[arg-type]
    assert asked(tmp_path, {"rare": 1.0, "odd": 1.0, "the": 1.0}, formula) == pytest.approx(1.0)


def test_a_part_and_nothing(tmp_path: Path) -> None:
    formula = zf.BM25()
    half = asked(tmp_path / "1", {"rare": 1.0, "unheard": 1.0}, formula)
    assert half is not None and 0.3 < half < 0.5  # the unknown word is the rarer one
    common = asked(tmp_path / "2", {"the": 1.0, "unheard": 1.0}, formula)
    assert common is not None and common < 0.05
    assert asked(tmp_path / "3", {"unheard": 1.0}, formula) == 0.0


def test_no_yardstick(tmp_path: Path) -> None:
    assert asked(tmp_path / "1", {"rare": 1.0}, zf.Dot()) is None
    assert asked(tmp_path / "2", {"rare": 1.0}, zf.TfIdf()) is None
