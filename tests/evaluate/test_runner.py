from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluate.fakes import FakeCollection
from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.datasets import load_beir, load_class_folders
from zipfian.evaluate.methods import METHODS
from zipfian.evaluate.results import Report, csv_text, markdown, shown
from zipfian.evaluate.runner import MethodResult, run_methods


def test_a_run_is_measured(beir: Path) -> None:
    data = load_beir(beir)
    answers = {"plants and light": ["d1", "d3"], "sleeping cats": ["d1", "d2"], "garden pond": [], "fish": ["d5"]}
    done: list[int] = []
    found = run_methods(
        FakeCollection(["words"], {"words": answers}), [METHODS["words"]], data, ["r@1", "recall@10", "mrr@10"],
        progress=lambda: done.append(1),
    )["words"]  # fmt: skip
    assert found.per_query["r@1"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 1.0}
    assert found.values["mrr@10"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert found.values["recall@10"] == pytest.approx(0.75)
    assert found.values["index_bytes"] == 100
    assert {"latency_ms", "search_ms"} <= found.values.keys()
    assert len(done) == 4


def test_ignored_documents_leave_the_ranking_and_make_room(classes: Path) -> None:
    data = load_class_folders(classes)
    answers = {"own.jpg": ["gallery/dog/c.webp", "gallery/dog/d.jpg"], "q.jpg": ["gallery/cat/a.jpg"]}
    collection = FakeCollection(["visual"], {"visual": answers})
    found = run_methods(collection, [METHODS["visual"]], data, ["r@1"], depth=1, timed=False)["visual"]
    assert [doc for doc, _ in found.run["query/dog/own.jpg"]] == ["gallery/dog/d.jpg"]
    assert found.values["r@1"] == 1.0
    asked = {Path(str(row["question"].image)).name: row["k"] for row in collection.asked}
    assert asked == {"own.jpg": 2, "q.jpg": 1}


def test_a_field_that_is_missing_stops_the_run(beir: Path) -> None:
    with pytest.raises(InvalidInput, match="needs the field 'dense'"):
        run_methods(FakeCollection(["words"], {}), [METHODS["dense"]], load_beir(beir), measures.TEXT)


def result(name: str, values: list[float]) -> MethodResult:
    per_query = {"r@1": {f"q{i}": v for i, v in enumerate(values)}}
    return MethodResult(name, {"q0": [("a b", 0.5)]}, per_query, {**measures.means(per_query), "index_bytes": 1234.0})


@pytest.fixture
def report() -> Report:
    low, high = [0.0] * 20 + [1.0] * 4, [1.0] * 12 + [0.0] * 8 + [1.0] * 4
    results = {"base": result("base", low), "same": result("same", low), "good": result("good", high)}
    return Report("tiny", "text", 5, 24, results, {"half": "all"}, ("a remark",))


def test_marks_are_for_differences_beyond_chance(report: Report) -> None:
    assert report.marks() == {"same": {"r@1": ""}, "good": {"r@1": "++"}}
    header, rows = report.rows()
    assert header == ["method", "r@1", "index_bytes"]
    assert rows[2] == ["good", "0.6667++", "1,234"]
    worse = Report("tiny", "text", 5, 24, report.results, baseline="good")
    assert worse.marks()["base"]["r@1"] == "--"


def test_comparisons_are_corrected_for_their_number(report: Report) -> None:
    test = report.comparisons()["good"]["r@1"]
    assert test["difference"] == pytest.approx(0.5)
    assert test["p_holm"] == pytest.approx(2 * test["p"])


def test_the_files_of_a_report(report: Report, tmp_path: Path) -> None:
    written = report.write(tmp_path / "out")
    assert {p.name for p in written} == {
        "report.json", "report.csv", "report.md", "per_query.csv", "base.run", "same.run", "good.run"
    }  # fmt: skip
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    assert data["methods"]["good"]["r@1"] == pytest.approx(16 / 24)
    assert data["environment"]["cores"] >= 1
    assert data["settings"] == {"half": "all"}
    assert data["reference"] == "base"
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| good | 0.6667++ | 1,234 |" in text and "a remark" in text and "Holm" in text
    assert (tmp_path / "out" / "good.run").read_text() == "q0 Q0 a%20b 1 0.5 good\n"
    assert len((tmp_path / "out" / "per_query.csv").read_text().splitlines()) == 1 + 3 * 24


def test_reports_need_methods_and_a_known_baseline(report: Report) -> None:
    with pytest.raises(InvalidInput, match="at least one method"):
        Report("x", "text", 1, 1, {})
    with pytest.raises(InvalidInput, match="'none' is not among: base, same, good"):
        Report("x", "text", 1, 1, report.results, baseline="none")


def test_cells() -> None:
    assert shown("r@1", 0.12345) == "0.1235"
    assert shown("latency_ms", 1.234) == "1.23"
    assert markdown(["a", "b"], [["x|y", "1"]]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n"
    assert csv_text(["a"], [["x,y"]]) == 'a\n"x,y"\n'
