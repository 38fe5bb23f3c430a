"""Collections written for other engines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian import BM25, Collection
from zipfian.cli import main
from zipfian.collection.settings import Settings
from zipfian.engines.opensearch import mapping
from zipfian.engines.opensearch.export import surrogate_lines, write_opensearch
from zipfian.engines.opensearch.verify import verify
from zipfian.errors import InvalidInput
from zipfian.fields import Sparse, Words
from zipfian.index.snapshot import Snapshot
from zipfian.retrieve.scoring import Dot
from zipfian.storage.directory import FSDirectory


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    fields = {
        "words": Words(),
        "codes": Sparse(50),
        "dot": Sparse(50, tf="count", scoring=Dot()),
        "root": Sparse(50, scoring=BM25(phi="sqrt")),
    }
    terms = {"codes": {3: 1.5, 7: 0.25}, "dot": {1: 3.0, 2: 1.0}, "root": {4: 4.0}}
    with Collection.create(tmp_path / "c.zf", fields) as c:
        c.add([{"id": "gone", "text": "x"}, {"id": "a", "text": "red red|apple", "terms": terms, "vector": [1.0, 2.0]}])
        c.commit()
        c.delete(["gone"])
        c.add([{"id": "tab\tid", "text": "", "metadata": {"n": 1}}])
        c.commit()
    return tmp_path / "c.zf"


def opened(path: Path) -> tuple[Snapshot, Settings]:
    snapshot = Snapshot.open(FSDirectory(path))
    return snapshot, Settings.from_json(snapshot.settings, "x")


def test_surrogate_text(stored: Path) -> None:
    snapshot, settings = opened(stored)

    def lines(field: str, **more: Any) -> list[tuple[str, str]]:
        return list(surrogate_lines(snapshot, settings, field, **more))

    assert lines("words") == [("a", "red red appl"), ("tab\tid", "")]
    assert lines("dot") == [("a", "t1 t1 t1 t2"), ("tab\tid", "")]
    assert lines("codes", steps=4, prefix="v")[0][1] == "v3 v3 v3 v3 v3 v3 v7"
    assert lines("root", steps=1)[0][1] == "t4 t4"
    with pytest.raises(InvalidInput, match="no blanks"):
        lines("dot", prefix="a b")


def test_surrogate_on_the_command_line(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "surrogate", str(stored), "--field", "dot"]) == 0
    assert capsys.readouterr().out == "a\tt1 t1 t1 t2\ntab\\tid\t\n"
    assert main(["export", "surrogate", str(stored), "--field", "dot", "--no-ids", "--out", str(tmp_path / "o")]) == 0
    assert (tmp_path / "o").read_text() == "t1 t1 t1 t2\n\n"
    assert main(["export", "surrogate", str(stored)]) == 1
    assert "name a field" in capsys.readouterr().err


def test_opensearch_files(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["export", "opensearch", str(stored), "--out", str(out), "--name", "notes", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["documents"] == 2 and report["loss"]["root"] == 0.0
    body = json.loads((out / "mapping.json").read_text())
    assert body["mappings"]["properties"]["m_i_n"] == {"type": "long"}
    assert body["mappings"]["properties"]["v_2_default"]["type"] == "binary"
    lines = [json.loads(line) for line in (out / "bulk-00000.ndjson").read_text().splitlines()]
    assert lines[0] == {"index": {"_id": "a"}}
    assert lines[1]["field_codes"] == "3|150 7|25" and lines[1]["field_words"] == "red|2 appl|1"
    assert lines[1]["field_root"] == "4|200" and lines[1]["doc"] == {"text": "red red|apple"}
    template = json.loads((out / "query-codes.json").read_text())
    assert template["body"]["query"]["bool"]["should"][0]["term"]["field_codes"]["value"] == "TERM_1"
    assert repr(2.5 / 151.0) in template["about"]["boost"]
    assert "notes" in (out / "README.txt").read_text()
    # the mapping is the one that `create` would make, so zipfian can open the index that is loaded from it
    index = {"settings": {"index": {**body["settings"]["index"], "analysis": body["settings"]["analysis"]}}}
    layout, fields = mapping.read({**index, "mappings": body["mappings"]}, "x")
    assert set(layout.codes) == {"words", "codes", "dot", "root"} and fields == {"n": "integer"}
    with pytest.raises(InvalidInput, match="not empty"):
        write_opensearch(*opened(stored), out, "notes")


def test_verify_compares(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.zf"
    with Collection.create(other) as c:
        c.add([{"id": "a", "text": "red apple"}, {"id": "b", "text": "red"}])
        c.commit()
    (tmp_path / "q.txt").write_text('red apple\n\n"apple"\n{"text": "pear"}\n')
    assert main(["verify", str(stored), str(stored), "--queries", str(tmp_path / "q.txt"), "--field", "words"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"agreement of the order, missing documents counted +1\.0000", shown), shown
    assert re.search(r"rank correlation of the 0\.7 documents in both lists +-", shown), shown
    wrong = ["verify", str(stored), str(other), "--queries", str(tmp_path / "q.txt"), "--field", "words", "--json"]
    assert main([*wrong, "--at-least", "0.9"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["queries"] == 3 and 0.5 < report["overlap"] < 0.9 and report["score_error_max"] > 0.1
    (tmp_path / "bad.txt").write_text("{broken\n")
    assert main(["verify", str(stored), str(other), "--queries", str(tmp_path / "bad.txt")]) == 1
    assert "line 1" in capsys.readouterr().err


class Fixed:
    """A collection that always answers the same."""

    def __init__(self, hits: list[tuple[str, float]]) -> None:
        self.hits = hits

    def search(self, asked: Any = None, /, k: int = 10, where: Any = None, *, fields: Any = None) -> Any:
        from types import SimpleNamespace

        return [SimpleNamespace(id=i, score=s, rank=r) for r, (i, s) in enumerate(self.hits[:k], 1)]


def test_report_numbers() -> None:
    a = Fixed([("x", 3.0), ("y", 2.0), ("z", 1.0)])
    assert verify(a, a, ["q"]).same_order == 1.0
    swapped = verify(a, Fixed([("y", 3.0), ("x", 2.0), ("z", 1.0)]), ["q"])
    assert swapped.overlap == 1.0 and swapped.same_order == 0.0 and swapped.rank_correlation == pytest.approx(0.5)
    assert swapped.rank_agreement == pytest.approx((0 + 1 + 1) / 3) and swapped.shared == 3
    tied = Fixed([("x", 2.0), ("y", 2.0)])
    assert verify(tied, Fixed([("y", 2.0), ("x", 2.0)]), ["q"]).same_order == 1.0
    half = verify(a, Fixed([("x", 3.3), ("n", 1.0)]), ["q", "q"])
    assert half.overlap == pytest.approx(1 / 3) and half.score_error_max == pytest.approx(0.1)
    assert np.isclose(half.score_error_mean, 0.1) and half.worst == ((0, 1 / 3), (1, 1 / 3))
    assert half.rank_correlation is None and half.shared == 1
    assert half.rank_agreement == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    with pytest.raises(InvalidInput):
        verify(a, a, [])


def test_two_lists_that_share_little_do_not_agree() -> None:
    """The two documents that both have stand in the same order; the eight that one lacks must be seen in the figure."""
    left = Fixed([(f"a{i}", 20.0 - i) for i in range(8)] + [("x", 2.0), ("y", 1.0)])
    right = Fixed([(f"b{i}", 20.0 - i) for i in range(8)] + [("x", 2.0), ("y", 1.0)])
    report = verify(left, right, ["q"])
    assert report.overlap == 0.2 and report.rank_correlation == pytest.approx(1.0) and report.shared == 2
    assert report.rank_agreement == pytest.approx((1 / 9 + 2 / 10) / 10)
    nothing = verify(Fixed([]), Fixed([]), ["q"])
    assert nothing.rank_agreement == 1.0 and nothing.rank_correlation is None
