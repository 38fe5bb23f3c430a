from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from experiments.adaptive_k import Case, Kept, on_front, search_once, seconds_of, settings
from experiments.catalogue import run_table
from tests.toys import ToyText, toy_vocabulary
from zipfian.collection.execute import Run
from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery
from zipfian.fields import Dense, Latent, Words
from zipfian.fields.query import Query
from zipfian.fuse.ranking import Ranking
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.rerank.dense import rerank_dense

TEXTS = {f"d{i}": f"{a} {b} {c}" for i, (a, b, c) in enumerate(
    (a, b, c) for a in ("dog", "puppy", "cat") for b in ("sleeps", "runs") for c in ("sun", "light", "rain")
)}  # fmt: skip
QUERIES = {"q0": "hound in the sun", "q1": "cat runs", "q2": "puppy sleeps in the rain"}
QRELS = {"q0": {"d0": 1, "d1": 1, "d6": 1}, "q1": {"d15": 1, "d16": 1}, "q2": {"d8": 1, "d2": 0}}


@pytest.fixture
def notes(tmp_path: Path) -> zf.Collection:
    encoder, sae = ToyText(), toy_vocabulary(tmp_path / "sae")
    fields = {
        "words": Words(),
        "latent": Latent(sae, encoder=encoder),
        "dense": Dense(encoder=encoder),
    }
    made = zf.Collection.create(tmp_path / "notes.zf", fields, encodings=False)
    made.add({"id": i, "text": t} for i, t in TEXTS.items())
    made.commit()
    return made


def case(*first: str) -> Case:
    data = Dataset(
        "notes", "text", lambda: ({"id": i, "text": t} for i, t in TEXTS.items()), frozenset(TEXTS),
        {q: JudgedQuery(q, text=t) for q, t in QUERIES.items()}, QRELS, {"q1": frozenset({"d15"})},
    )  # fmt: skip
    return Case("notes", data, ("words", "latent", "dense"), first, "dense")


@pytest.mark.parametrize("first", [("words",), ("words", "latent")])
def test_a_kept_query_ranks_as_a_search_does(notes: zf.Collection, first: tuple[str, ...]) -> None:
    which = case(*first)
    kept, sample = search_once(notes, which)
    assert len(sample) == len(QUERIES)
    for setting in (0, 3, 200, AdaptiveK(4, 10, 0.5), AdaptiveK(4, 10, 50.0)):
        for key in ("q0", "q2"):  # q1 has a document that is left out of its rankings
            found = Run(notes.searcher(), Query(QUERIES[key]), which.plan(setting)).search(10, None)
            chosen: Any = found.choice["K"] if found.choice else setting
            depth = 0 if found.reranking is None else min(chosen, 10_000)
            one = kept[key]
            assert one.depth(setting) == min(depth, len(one.scores))
            alone = Ranking.of("first", np.arange(len(one.scores)), one.scores)
            order = rerank_dense(alone, one.cosines[: one.depth(setting)]).docs
            assert one.scores[order[0]] == found.first.scores[list(found.first.docs).index(found.docs[0])]


def test_measures_are_those_of_the_lab(notes: zf.Collection) -> None:
    which = case("latent")
    kept, _ = search_once(notes, which)
    run = {}
    for key, text in QUERIES.items():
        ignored = which.dataset.ignore.get(key, frozenset())
        run[key] = [(h.id, h.score) for h in notes.search(text, k=len(TEXTS), fields="latent") if h.id not in ignored]
    wanted = measures.evaluate(run, QRELS, ["r@1", "map"])
    for key, one in kept.items():
        assert one.measured(0) == pytest.approx((wanted["r@1"][key], wanted["map"][key]))


def test_words_tell_how_rare_they_are(notes: zf.Collection) -> None:
    kept, _ = search_once(notes, case("words"))
    assert all(one.rarity is not None and 0.0 < one.rarity <= 1.0 for one in kept.values())
    assert kept["q1"].rarity == 1.0  # a document has both words
    assert kept["q0"].rarity is not None and kept["q0"].rarity < 0.5  # nobody wrote "hound"
    assert all(one.rarity is None for one in search_once(notes, case("latent"))[0].values())
    plan = case("words").plan(AdaptiveK(4, 10, 50.0))
    choice = Run(notes.searcher(), Query(QUERIES["q0"]), plan).search(3, None).choice
    assert choice is not None and choice["rarity"] == kept["q0"].rarity


def test_a_query_that_found_nothing() -> None:
    none = Kept(np.empty(0), np.empty(0), np.empty(0, np.bool_), 2, None)
    assert none.depth(200) == none.depth(AdaptiveK()) == 0
    assert none.measured(0) == (0.0, 0.0)


def test_the_front() -> None:
    points = [(0.0, 0.5), (10.0, 0.7), (20.0, 0.7), (30.0, 0.9), (30.0, 0.8), (40.0, 0.85)]
    assert on_front(points) == [True, True, False, True, False, False]


def test_settings_and_times(notes: zf.Collection) -> None:
    names = settings()
    assert names["K=0"] == 0 and sum("(latency-first)" in name for name in names) == 1
    assert len({repr(s) for s in names.values()}) == len(names)
    which = case("words")
    seconds = seconds_of(notes.searcher(), which, [Query("cat runs")], [0, 10, AdaptiveK()])
    assert seconds.shape == (3, 1) and (seconds > 0).all()
    with pytest.raises(InvalidInput, match="adaptive-k needs pets"):
        run_table("adaptive-k", {})
