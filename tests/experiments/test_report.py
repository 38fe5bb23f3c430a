"""The page of all results, from files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.report import build, main
from tests.experiments.tables import made
from zipfian.errors import InvalidInput


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
    assert "Told by others; no rankings were kept." in text and text.count("`python -m experiments seed9-x") == 1


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
    assert "in [the JSON file](../results/both/report.json): r@20, documents_touched" in text
    assert "`zipfian eval captions --protocol val-only --no-gallery-captions DATA --methods aligned,words`" in text
    assert "## f: FAIR-LOO" in text and "| hybrid | 0.9000 ± 0.0100 | .0400 | 1.50 |" in text
    assert "paired t-test over the runs" in text
    assert text.index("## f: FAIR-LOO") < text.index("## A table")


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


def test_the_page_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made().write(tmp_path / "results")
    main([str(tmp_path / "results"), "--into", str(tmp_path / "page.md")])
    assert capsys.readouterr().out == f"{tmp_path / 'page.md'}: 1 results\n"
    assert "`python -m experiments seed9-x` (" in (tmp_path / "page.md").read_text()
    with pytest.raises(SystemExit, match=r"experiments: .*none: no such folder of results"):
        main([str(tmp_path / "none"), "--into", str(tmp_path / "page.md")])
