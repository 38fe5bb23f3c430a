"""`python -m experiments`: a table by name, or the list of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.catalogue import TABLES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("arguments", [[], ["--list"]])
def test_all_tables_are_listed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(TABLES)
    assert "(--data pets" in lines[0]


def test_a_table_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.json").write_text(json.dumps([{"loss": 1.0}]))
    given = ["hybridvl-figure2", "--data", f"log={tmp_path / 'log.json'}"]
    main([*given, "--json", "--out", str(tmp_path / "out")])
    assert json.loads(capsys.readouterr().out)["rows"] == [{"epoch": 0, "loss": 1.0}]
    assert (tmp_path / "out" / "hybridvl-figure2.md").is_file()
    main(given)
    assert capsys.readouterr().out.startswith("## Hybrid VL, Figure 2")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["other"], "unknown table 'other'; there are: bm25v-table2"),
     (["bm25v-table2", "--data", "pets"], "--data takes NAME=PATH, .* not 'pets'"),
     (["bm25v-table2", "--data", "=x"], "--data takes NAME=PATH"),
     (["bm25v-table2"], "needs pets: give --data pets=PATH")],
)  # fmt: skip
def test_what_cannot_be_made(arguments: list[str], problem: str) -> None:
    with pytest.raises(SystemExit, match=f"experiments: .*{problem}"):
        main(arguments)


def test_it_runs_from_the_checkout() -> None:
    done = subprocess.run([sys.executable, "-m", "experiments", "--list"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == len(TABLES), done.stderr
