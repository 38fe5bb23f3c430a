from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.conftest import write_beir
from zipfian.errors import InvalidInput
from zipfian.evaluate.report import build
from zipfian.evaluate.tables import TABLES, run_table
from zipfian.evaluate.tables.base import Brief, Context, Made, cell, render
from zipfian.evaluate.tables.bm25v_cost import made_up_terms, made_up_vectors
from zipfian.evaluate.tables.hybridvl_index import efficiency
from zipfian.evaluate.tables.paper import BM25V_TABLE2, LATENTTERMS_TABLE1
from zipfian.evaluate.tables.plots import Plot, draw


def made() -> Made:
    plot = Plot("t", "x", "y", {"a": [(1, 0.5), (2, 0.7)], "b": [(1, 0.1)]}, marks={"published": 1.5})
    rows = [
        {"method": "a|b", "R@1": 0.5, "R@1 paper": None, "index_bytes": 1234.5},
        {"method": "c", "R@1": float("nan")},
    ]
    columns = ["method", "R@1", "R@1 paper", "index_bytes"]
    return Made("seed9-x", "A table", columns, rows, ("a note",), ("HNSW: not built",), {"seed9-x": plot}, {"seed": 1})


def test_every_published_table_has_a_command() -> None:
    wanted = (
        "bm25v-table2 bm25v-table3 bm25v-ablation bm25v-bm25-dot bm25v-table4 bm25v-latency bm25v-figure1"
        " latentterms-table1 latentterms-table2 latentterms-table5 latentterms-table6 latentterms-table7"
        " hybridvl-figure2 hybridvl-figure3 hybridvl-figure4 hybridvl-figure5 hybridvl-figure6 hybridvl-table2"
        " hybridvl-table3 hybridvl-sweeps hybridvl-figure8 adaptive-k surrogate-figure1 fusion seeds"
    )
    assert set(wanted.split()) == set(TABLES)
    assert all(name == table.name and table.summary and table.data for name, table in TABLES.items())


def test_unknown_tables_and_missing_data() -> None:
    with pytest.raises(InvalidInput, match="unknown table 'other-table1'; there are: bm25v-table2"):
        run_table("other-table1", {})
    for name in set(TABLES) - {"bm25v-latency", "bm25v-table3", "bm25v-ablation"}:
        with pytest.raises(InvalidInput, match=r"needs [a-z0-9-]+: give --data"):
            run_table(name, {})
    with pytest.raises(InvalidInput, match="sae-k16=FOLDER"):
        run_table("bm25v-table3", {"pets": Path("x")})
    with pytest.raises(InvalidInput, match="a gallery size"):
        run_table("bm25v-latency", {"sizes": Path("ten")})


def test_files_of_a_table(tmp_path: Path) -> None:
    made().write(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {
        "seed9-x.json", "seed9-x.md", "seed9-x.csv", "seed9-x.png", "seed9-x.svg"
    }  # fmt: skip
    data = json.loads((tmp_path / "seed9-x.json").read_text())
    assert data["rows"][1]["R@1"] is None  # JSON has no NaN
    assert data["settings"] == {"seed": 1} and data["environment"]["python"]
    text = (tmp_path / "seed9-x.md").read_text()
    assert "| a\\|b | .5000 |  | 1,234 |" in text
    assert "- a note" in text and "HNSW: not built" in text
    assert (tmp_path / "seed9-x.csv").read_text().splitlines()[1] == "a|b,0.5,,1234.5"


def test_a_plot_is_the_same_every_time(tmp_path: Path) -> None:
    plot = made().plots["seed9-x"]
    for name in ("a", "b"):
        draw(plot, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    draw(Plot("t", "", "y", {"a": [("x", 1.0)], "b": [("x", 2.0)]}, "bar", deviations={"a": [0.1]}), tmp_path / "bars")
    with pytest.raises(InvalidInput, match="nothing to draw"):
        draw(Plot("t", "", "y", {"a": []}), tmp_path / "c")


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [("x", None, ""), ("x", "s", "s"), ("R@1", 0.12345, ".1235"), ("R@1", 1.0, "1.000"), ("N", 10_000, "10,000"),
     ("latency_ms", 1.234, "1.23"), ("difference", -0.05, "-0.0500"), ("operations formula", 1e6, "1,000,000")],
)  # fmt: skip
def test_cells(column: str, value: object, wanted: str) -> None:
    assert cell(column, value) == wanted


def test_published_figures_are_those_printed() -> None:
    assert BM25V_TABLE2["pets"]["dense"] == (0.912, 0.982, 0.990)
    averages = [round(float(np.mean([d[m][0] for d in BM25V_TABLE2.values()])), 3) for m in ("dense", "two-stage")]
    assert averages == [0.859, 0.857]  # as the paper's text says
    assert LATENTTERMS_TABLE1["scifact"]["Nomic + Latent Terms"] == 0.749


def test_context(tmp_path: Path) -> None:
    context = Context("t", {"pets": tmp_path, "sae-k16": tmp_path / "a", "sizes": Path("5")}, ("pets",))
    assert context.path("pets") == tmp_path
    assert context.all("sae-k") == {"16": tmp_path / "a"}
    assert context.text("sizes", "1") == "5" and context.text("other", "1") == "1"
    assert set(context.others("pets")) == {"sae-k16", "sizes"}


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


def test_made_up_galleries() -> None:
    indptr, indices, weights = made_up_terms(200, 16, 1_000)
    assert len(indptr) == 201 and len(indices) == len(weights) == indptr[-1]
    for a, b in pairwise(indptr.tolist()):
        assert 1 <= b - a <= 16 and np.all(np.diff(indices[a:b]) > 0)
    df = np.bincount(indices, minlength=1_000)
    assert df[:10].sum() > df[500:].sum()  # Zipfian
    assert np.allclose(np.linalg.norm(made_up_vectors(50, 32), axis=1), 1.0, atol=1e-5)


def test_results_page(tmp_path: Path) -> None:
    results = tmp_path / "results"
    made().write(results)
    comparison = {
        "dataset": "scifact", "kind": "text", "documents": 5183, "queries": 300, "reference": "words",
        "methods": {"words": {"ndcg@10": 0.69}, "latent": {"ndcg@10": 0.72}},
        "comparisons": {"latent": {"ndcg@10": {"difference": 0.03, "p_holm": 0.02}}},
        "settings": {"half": "odd"}, "notes": ["n"], "environment": {"cpu": "c", "cores": 2},
    }  # fmt: skip
    (results / "text").mkdir()
    (results / "text" / "report.json").write_text(json.dumps(comparison))
    assert build(results, tmp_path / "docs" / "results.md") == 2
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "## A table" in text and "![seed9-x](../results/seed9-x.svg)" in text
    assert "## scifact, odd half of the queries" in text and "| latent | 0.7200+ |" in text
    assert "`zipfian eval text DATA --methods words,latent --half odd` (c, 2 cores" in text and "Out of scope" in text
    assert "by hand" not in text
    build(results, tmp_path / "docs" / "again.md")
    assert (tmp_path / "docs" / "again.md").read_text() == text
    build(results, tmp_path / "here.md")
    assert "![seed9-x](results/seed9-x.svg) ([PNG](results/seed9-x.png))" in (tmp_path / "here.md").read_text()
    (results / "about.md").write_text("Said by somebody.\n")
    (results / "text" / "report.json").write_text(json.dumps(comparison | {"reference": "latent"}))
    told = json.loads((results / "seed9-x.json").read_text()) | {"reported": "Told by others; no rankings were kept."}
    (results / "told.json").write_text(json.dumps(told))
    (results / "speed").mkdir()
    (results / "speed" / "benchmarks.json").write_text('{"speed": []}')  # of another page
    assert build(results, tmp_path / "here.md") == 3
    text = (tmp_path / "here.md").read_text()
    assert "The first part is written by hand\n(`results/about.md`)." in text and "Said by somebody." in text
    assert "--methods words,latent --baseline latent --half odd`" in text
    assert "Told by others; no rankings were kept." in text and text.count("`zipfian eval table seed9-x") == 1


def test_the_page_shows_what_matters_of_wide_results(tmp_path: Path) -> None:
    """Both directions below each other, measures beyond the important ones by name only, comparisons before tables."""
    values = {f"{way}_{key}": 0.5 for way in ("t2i", "i2t") for key in ("r@1", "r@20", "map", "latency_ms", "s_db")}
    both = {
        "dataset": "f-test-val-only-without-captions", "kind": "caption", "documents": 3, "queries": 4,
        "reference": "aligned", "methods": {"aligned": values, "words": {"t2i_r@1": 0.25}},
        "comparisons": {"words": {"t2i_r@1": {"difference": -0.25, "p_holm": 0.001}}},
        "settings": {"directions": {"t2i": {"documents": 1, "queries": 2}, "i2t": {"documents": 2, "queries": 2}}},
    }  # fmt: skip
    summary = {
        "methods": {"hybrid": {"mean": 0.9, "deviation": 0.01}, "dense": {"mean": 0.8, "deviation": 0.02}},
        "tests": {"hybrid": {"p": 0.04, "cohens_d": 1.5}},
    }
    loo = {
        "dataset": "f", "kind": "caption", "protocol": "fair-loo", "methods": {"hybrid": {}, "dense": {}},
        "reference": "dense", "runs": {"r@10": summary}, "settings": {"runs": 5},
    }  # fmt: skip
    results = tmp_path / "results"
    made().write(results / "a-table")
    for name, data in (("both", both), ("loo", loo)):
        (results / name).mkdir()
        (results / name / "report.json").write_text(json.dumps(data))
    build(results, tmp_path / "docs" / "results.md")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "Text to picture: 1 documents, 2 queries; picture to text: 2 documents, 2 queries." in text
    assert "| direction | method | r@1 | map | latency_ms |\n| --- | --- | ---: |" in text
    assert "| text to picture | words | 0.2500-- |  |  |" in text and "| picture to text | words" not in text
    assert "in [the JSON file](../results/both/report.json): r@20, s_db" in text
    assert "`zipfian eval captions --protocol val-only --no-gallery-captions DATA --methods aligned,words`" in text
    assert "## f: FAIR-LOO" in text and "| hybrid | 0.9000 ± 0.0100 | .0400 | 1.50 |" in text
    assert "paired t-test over the runs" in text
    assert text.index("## f: FAIR-LOO") < text.index("## A table")


def test_a_long_table_shows_its_brief(tmp_path: Path) -> None:
    brief = Brief(["method", "why"], [{"method": "a", "why": "b"}], "one row")
    long = replace(made(), brief=brief)
    long.write(tmp_path)
    text = (tmp_path / "seed9-x.md").read_text()
    assert "| method | why |\n| --- | --- |\n| a | b |" in text and "index_bytes" not in text
    assert "Shown: one row. All 2 rows are in `seed9-x.csv` and `seed9-x.json`." in text
    assert len(json.loads((tmp_path / "seed9-x.json").read_text())["rows"]) == 2
    assert "index_bytes" in (tmp_path / "seed9-x.csv").read_text()


def test_no_table_says_where_data_lay(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([{"loss": 1.0}]))
    run_table("hybridvl-figure2", {"log": log}, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert str(tmp_path).encode() not in file.read_bytes()
    assert json.loads((tmp_path / "out" / "hybridvl-figure2.json").read_text())["settings"]["data"] == {
        "log": "log.json"
    }


@pytest.mark.parametrize(("text", "problem"), [("{", "not JSON"), ("[]", "a JSON object"), ("{}", "neither a table")])
def test_results_that_cannot_be_used(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "r").mkdir()
    with pytest.raises(InvalidInput, match="holds no JSON result"):
        build(tmp_path / "r", tmp_path / "x.md")
    (tmp_path / "r" / "a.json").write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        build(tmp_path / "r", tmp_path / "x.md")
    with pytest.raises(InvalidInput, match="no such folder"):
        build(tmp_path / "none", tmp_path / "x.md")


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


def test_a_table_is_rendered_from_its_json_alone() -> None:
    table = made()
    assert render(json.loads(json.dumps(table.to_json()))) == table.markdown()


def test_beir_folders_by_any_name(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "mine")
    with pytest.raises(InvalidInput, match="no such split"):
        (folder / "qrels" / "test.tsv").unlink()
        run_table("latentterms-table6", {"mine": folder})
