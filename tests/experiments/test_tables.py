from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.base import Brief, Context, cell, render
from experiments.catalogue import TABLES, run_table
from experiments.paper import BM25V_TABLE2, LATENTTERMS_TABLE1
from experiments.plots import Plot, draw
from tests.evaluate.conftest import write_beir
from tests.experiments.tables import made
from zipfian.errors import InvalidInput


def test_every_published_table_has_a_command() -> None:
    wanted = (
        "bm25v-table2 bm25v-table3 bm25v-ablation bm25v-bm25-dot bm25v-table4 bm25v-latency bm25v-figure1"
        " latentterms-table1 latentterms-table2 latentterms-table5 latentterms-table6 latentterms-table7"
        " hybridvl-figure2 hybridvl-figure3 hybridvl-figure4 hybridvl-figure5 hybridvl-figure6 hybridvl-table2"
        " hybridvl-table3 hybridvl-sweeps hybridvl-figure8 adaptive-k surrogate-figure1 fusion seeds"
        " multilingual cross-language"
        " languages languages-mixed languages-detector long needles confidence visual-words together more-like-this"
        " quality quality-weights quality-cost short-texts terms-kept recipes teaching photo-queries"
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


def test_a_table_is_rendered_from_its_json_alone() -> None:
    table = made()
    assert render(json.loads(json.dumps(table.to_json()))) == table.markdown()


def test_beir_folders_by_any_name(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "mine")
    with pytest.raises(InvalidInput, match="no such split"):
        (folder / "qrels" / "test.tsv").unlink()
        run_table("latentterms-table6", {"mine": folder})
