"""Long documents: how they are made, that both ways really differ, and that the page shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments import long as module
from experiments.catalogue import run_table
from tests.toys import ToyText, toy_vocabulary
from zipfian.fields import Dense, Latent, Words

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ("dog", "cat", "car", "sun", "red", "tree", "stone", "river", "bread", "music")


class Windowed(ToyText):
    max_tokens = 22
    long_texts = "windows"


@pytest.fixture
def scifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    rows = [
        {"_id": f"p{i}", "title": f"Of {TOPICS[i % 10]} {i}", "text": f"A {TOPICS[i % 10]} is here. " + "It was. " * 9}
        for i in range(40)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    queries = [{"_id": f"q{i}", "text": f"where is the {topic} {i}?"} for i, topic in enumerate(TOPICS)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = [f"q{i}\tp{i}\t1" for i in range(10)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    sae, text = toy_vocabulary(tmp_path / "toy-sae"), Windowed("long")
    made: dict[str, Any] = {"latent": Latent(sae, encoder=text), "dense": Dense(encoder=text)}
    monkeypatch.setattr(module, "fields", lambda _, whole: {"words": Words(passages=0 if whole else 100)} | made)
    return folder


def test_the_table(scifact: Path, tmp_path: Path) -> None:
    made = run_table("long", {"scifact": scifact}, tmp_path / "out")
    rows = {(row["asked by"], row["method"]): row for row in made.rows}
    assert set(rows) == {(form, m) for form in ("query", "title") for m in ("words", "latent", "dense", "hybrid")}
    assert rows["title", "dense"]["difference"] > 0.0, "one vector of eight texts is about none of them"
    costs = {(cost["asked by"], cost["read"]): cost for cost in made.settings["costs"]}
    assert costs["query", "whole"]["passages"] is None and costs["query", "passages"]["passages"] > 10
    assert costs["query", "whole"]["passages of words"] is None
    assert costs["query", "passages"]["passages of words"] > 10
    assert costs["query", "passages"]["postings"] > costs["query", "whole"]["postings"]
    assert (tmp_path / "out" / "long.json").exists()


def test_only_queries_that_chose_nothing_are_asked(scifact: Path) -> None:
    source = module.SOURCES[0]
    query, _ = module.tasks(source, scifact)
    assert source.chose and set(query.queries.values()) and all(map(module.odd, query.queries.values()))
    assert {doc for grades in query.qrels.values() for doc in grades} <= set(query.documents)


def test_titles_are_not_in_the_texts_they_are_asked_of(scifact: Path) -> None:
    _, title = module.tasks(module.SOURCES[0], scifact)
    assert title.queries and all("Of " not in text for text in title.documents.values())


def test_the_page_shows_what_was_measured() -> None:
    lines = module.page(json.loads((ROOT / "results" / "long" / "long.json").read_text()))
    shown = (ROOT / "docs" / "passages.md").read_text().splitlines()
    assert len(lines) == 24
    assert [line for line in lines if line not in shown] == []
    assert len([line for line in shown if line.startswith(("| scifact", "| nfcorpus", "| drcd", "| piaf"))]) == len(
        lines
    )
