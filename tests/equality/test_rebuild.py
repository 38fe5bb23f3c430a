"""Whatever was done to a collection, it scores as one built at once from what is left, in order of the last upsert."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import zipfian as zf
from tests.equality.compare import FORMULAS, assert_same, fresh
from tests.equality.places import quick_folder
from zipfian.errors import InvalidInput
from zipfian.fields import Sparse, Words
from zipfian.vocabulary import Pruning

WORDS = ("plants", "plant", "light", "cells", "the", "naïve", "naive", "C++", "BM25", "e-mail", "日本語", "foo_bar")
N_TERMS = 9
QUERIES: dict[str, list[Any]] = {
    "words": ["plant", "the light of naive plants", "BM25 c++ plants email foo_bar", "nowhere", "日本 cells the plant"],
    "latent": [{0: 1.0}, {1: 0.5, 3: 2.0, 7: 0.1}, ([0, 1, 2, 4, 8], [0.3, 1.0, 1.5, 0.2, 4.0])],
}
QUERIES["exact"] = QUERIES["latent"]
LATE: dict[str, list[Any]] = {"late": QUERIES["latent"], "plain": QUERIES["words"]}

PRUNINGS = (
    Pruning(),
    Pruning(max_df_share=0.5),
    Pruning(drop_top_share=0.25),
    Pruning(min_weight=0.15, top_k=3),
    Pruning(max_df_share=0.7, drop_top_share=0.2, top_k=4),
)

weights = st.one_of(st.sampled_from([0.001, 0.004, 0.1, 0.15, 0.3, 1.0, 2.5, 700.0]), st.floats(0.01, 9.0))
vectors = st.dictionaries(st.integers(0, N_TERMS - 1), weights, max_size=5)
texts = st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document with an id from a small pool, so that ids meet again."""
    terms = {name: draw(vectors) for name in ("latent", "exact") if draw(st.booleans())}
    raw: dict[str, Any] = {"id": f"d{draw(st.integers(0, 14))}", "text": draw(texts), "terms": terms}
    if draw(st.booleans()):
        raw["metadata"] = {"n": draw(st.integers(0, 3)), "tag": draw(st.sampled_from(["a", "b"]))}
    if draw(st.booleans()):
        raw["vector"] = [draw(st.floats(-1, 1, width=32)), 0.5]
    return raw


batches = st.lists(documents(), max_size=6)


class Rebuild(RuleBasedStateMachine):
    """A collection and, as a plain dict in order of the last upsert, what it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = quick_folder()
        self.copies = 0

    @initialize(
        formulas=st.tuples(*[st.sampled_from(FORMULAS)] * 3),
        others=st.sets(st.sampled_from(FORMULAS), max_size=3),
        prunings=st.tuples(*[st.sampled_from(PRUNINGS)] * 3),
        memory=st.sampled_from([0, 3_000, 1 << 28]),
    )
    def create(self, formulas: Any, others: Any, prunings: Any, memory: int) -> None:
        self.fields = {
            "words": Words(scoring=formulas[0], pruning=prunings[0]),
            "latent": Sparse(N_TERMS, scoring=formulas[1], pruning=prunings[1]),
            "exact": Sparse(N_TERMS, scoring=formulas[2], pruning=prunings[2], tf="float32"),
        }
        self.formulas = (None, *others)
        self.memory = memory
        self.docs: dict[str, dict[str, Any]] = {}
        self.collection = zf.Collection.create(self.folder / "c", self.fields, memory_bytes=memory)
        self.committed = (dict(self.docs), dict(self.fields))

    def put(self, raw: dict[str, Any]) -> None:
        self.docs.pop(raw["id"], None)
        self.docs[raw["id"]] = raw

    @rule(batch=batches)
    def add(self, batch: list[dict[str, Any]]) -> None:
        known, taken = set(self.docs), 0
        for raw in batch:
            if raw["id"] in known:
                with pytest.raises(InvalidInput, match=f"'{raw['id']}' is in the collection already"):
                    self.collection.add(batch)
                break
            known.add(raw["id"])
            taken += 1
        else:
            assert self.collection.add(batch) == len(batch)
        for raw in batch[:taken]:
            self.put(raw)

    @rule(batch=batches)
    def skip(self, batch: list[dict[str, Any]]) -> None:
        new: dict[str, Any] = {}
        for raw in batch:
            if raw["id"] not in self.docs:
                new.setdefault(raw["id"], raw)
        assert self.collection.add(batch, existing="skip") == len(new)
        for raw in new.values():
            self.put(raw)

    @rule(batch=batches)
    def upsert(self, batch: list[dict[str, Any]]) -> None:
        assert self.collection.upsert(iter(batch)) == len(batch)
        for raw in batch:
            self.put(raw)

    @rule(numbers=st.lists(st.integers(0, 15), max_size=5))
    def delete(self, numbers: list[int]) -> None:
        ids = {f"d{n}" for n in numbers}
        assert self.collection.delete(ids) == len(ids & self.docs.keys())
        for i in ids:
            self.docs.pop(i, None)

    @rule(segments=st.integers(1, 3))
    def merge(self, segments: int) -> None:
        self.collection.merge(segments)

    @precondition(lambda self: "late" not in self.fields)
    @rule(data=st.data(), tf=st.sampled_from(["fixed", "float32"]), pruning=st.sampled_from(PRUNINGS))
    def add_terms_field(self, data: st.DataObject, tf: Any, pruning: Pruning) -> None:
        field = Sparse(N_TERMS, tf=tf, pruning=pruning)
        some = [i for i in self.docs if data.draw(st.booleans())]
        terms = {i: data.draw(vectors) for i in some}
        self.collection.add_field("late", field, terms)
        self.fields["late"] = field
        for i, row in terms.items():
            self.docs[i] = {**self.docs[i], "terms": {**self.docs[i]["terms"], "late": row}}

    @precondition(lambda self: "plain" not in self.fields)
    @rule(formula=st.sampled_from(FORMULAS))
    def add_words_field(self, formula: Any) -> None:
        field = Words(stem=False, stop_words=False, scoring=formula)
        self.collection.add_field("plain", field)
        self.fields["plain"] = field

    @rule()
    def roll_back(self) -> None:
        self.collection.rollback()
        self.docs, self.fields = dict(self.committed[0]), dict(self.committed[1])

    @rule()
    def reopen(self) -> None:
        """What was not committed is gone, and nothing else."""
        self.collection.close()
        self.collection = zf.Collection.open(self.folder / "c", "w", memory_bytes=self.memory)
        self.docs, self.fields = dict(self.committed[0]), dict(self.committed[1])

    @rule()
    def commit(self) -> None:
        self.collection.commit()
        self.committed = (dict(self.docs), dict(self.fields))
        self.compare()

    @invariant()
    def shows_the_last_commit(self) -> None:
        assert list(self.collection.ids()) == list(self.committed[0])

    def compare(self) -> None:
        self.copies += 1
        queries = {**QUERIES, **{name: asked for name, asked in LATE.items() if name in self.fields}}
        with fresh(self.folder / f"fresh{self.copies}", self.fields, self.docs.values()) as copy:
            assert_same(self.collection, copy, queries, self.formulas)
            for i in self.docs:
                one, two = self.collection.vector(i), copy.vector(i)
                assert (None if one is None else one.tolist()) == (None if two is None else two.tolist())
            for where in ({"n": {">=": 1}}, {"not": {"tag": "a"}}):
                if set(copy.fields) >= {"n", "tag"}:
                    found = [
                        [(h.id, h.score) for h in c.search("plant light", 3, where)] for c in (self.collection, copy)
                    ]
                    assert found[0] == found[1]
        shutil.rmtree(self.folder / f"fresh{self.copies}")

    def teardown(self) -> None:
        if hasattr(self, "collection"):
            self.commit()
            assert self.collection.check().ok
            self.collection.close()
        shutil.rmtree(self.folder)


USUAL = settings.default.max_examples if settings.default else 100
Rebuild.TestCase.settings = settings(max_examples=40 if USUAL <= 100 else USUAL, stateful_step_count=15)
test_rebuild = Rebuild.TestCase
