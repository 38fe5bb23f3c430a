"""Stated confidence and measured precision: what is counted, by hand, and what the page shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import confidence as c
from experiments.catalogue import run_table
from zipfian.errors import InvalidInput

ROOT = Path(__file__).resolve().parents[2]


def seen(said: list[float], right: list[bool], answered: list[float], off_topic: list[float]) -> c.Seen:
    return c.Seen(np.array(said), np.array(right, np.bool_), np.array(answered), np.array(off_topic))


def test_measured_by_hand() -> None:
    found = seen([0.05, 0.95, 0.85, 1.0], [False, True, False, True], [0.95, 0.05], [0.05, 0.2]).measured()
    assert (found["hits"], found["answered"], found["off-topic"]) == (4, 2, 2)
    assert (found["right"], found["stated"]) == (0.5, pytest.approx(0.7125))
    assert found["Brier"] == pytest.approx((0.05**2 + 0.05**2 + 0.85**2) / 4)
    assert found["ECE"] == pytest.approx((0.05 + 0.85 + 2 * (1.0 - 0.975)) / 4)
    assert found["AUC"] == (1 + 1 + 0.5 + 0) / 4
    assert (found["answered silent"], found["off-topic silent"]) == (0.5, 0.5)
    assert [found[f"n {i}"] for i in range(10)] == [1, 0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert (found["stated 9"], found["right 9"], found["stated 5"], found["right 5"]) == (0.975, 1.0, None, None)


def test_collections_together_count_every_hit_once() -> None:
    parts = [seen([0.2], [False], [0.5], []), seen([0.4, 0.9], [False, True], [], [0.1])]
    both = c.joined(parts)
    assert both.said.tolist() == [0.2, 0.4, 0.9] and both.right.tolist() == [False, False, True]
    assert (both.answered.tolist(), both.off_topic.tolist()) == ([0.5], [0.1])
    assert parts[0].measured()["AUC"] is None and parts[0].measured()["off-topic silent"] is None


DOCUMENTS = {"p": "the copper kettle of the gardener", "q": "a violin in a barrel of herring", "r": "very little else"}


def written(folder: Path, queries: dict[str, tuple[str, str]]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    asked = {key: text for key, (text, _) in queries.items()}
    for name, texts in (("corpus", DOCUMENTS), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps({"_id": k, "text": t}) for k, t in texts.items()))
    rows = [f"{query}\t{right}\t1" for query, (_, right) in queries.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    made = (c.Asked("here", ("words",), ("there", "absent")), c.Asked("there", ("words",), (), chose=True))
    monkeypatch.setattr(c, "COLLECTIONS", made)
    own = {"1": ("copper kettle", "p"), "2": ("violin herring", "q"), "3": ("little", "p")}
    other = {key: (f"barrel of unheard comets in orbit number {key}", "q") for key in "abcdef"}
    return {"here": written(tmp_path / "here", own), "there": written(tmp_path / "there", other)}


def test_the_table(data: dict[str, Path]) -> None:
    made = run_table("confidence", data)
    rows = {(row["collection"], row["method"]): row for row in made.rows}
    row = rows["here", "words"]
    assert (row["answered"], row["off-topic"]) == (2, 6), "the third query has no right document among its hits"
    assert (row["AUC"], row["hits"], row["right"]) == (1.0, 3 + 6, 2 / 9)
    assert rows["there", "words"]["answered"] == 2, "odd queries: the even ones chose"
    assert rows[c.HELD_OUT, "words"]["hits"] == row["hits"], "of those that chose nothing"
    assert "n 0" not in made.markdown()


def test_some_queries_always_the_same(data: dict[str, Path]) -> None:
    queries = c.load(c.COLLECTIONS[1], data["there"]).queries
    few = [query.id for query in c.few(queries, 2)]
    assert len(few) == 2 and few == [query.id for query in c.few(dict(reversed(list(queries.items()))), 2)]


def test_what_it_does_not_know(data: dict[str, Path]) -> None:
    with pytest.raises(InvalidInput, match=r"on collections it knows \(here, there\), not elsewhere"):
        run_table("confidence", {"elsewhere": Path("x")})
    with pytest.raises(InvalidInput, match="needs here: give --data"):
        run_table("confidence", {})


def test_the_page_shows_what_was_measured() -> None:
    rows = json.loads((ROOT / "results/confidence/confidence.json").read_text("utf-8"))["rows"]
    assert c.page(rows) in (ROOT / "docs/confidence.md").read_text("utf-8")
