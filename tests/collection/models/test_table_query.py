"""`query_encoder="table"` keeps networks out of the whole search, not only out of the latent field."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS
from tests.toys import ToyText
from zipfian.collection.plan import SearchPlan, make_plan
from zipfian.errors import InvalidInput
from zipfian.fields import Dense, Words
from zipfian.fields.query import Query


@pytest.fixture
def plain(tmp_path: Path, text: ToyText) -> zf.Collection:
    """Words and vectors: what the table leaves, and what it does not."""
    fields = {"words": Words(), "dense": Dense(encoder=text)}
    made = zf.Collection.create(tmp_path / "plain.zf", fields, encodings=False)
    made.add({"id": i, "text": t} for i, t in TEXTS.items())
    made.commit()
    return made


def planned(notes: zf.Collection, **how: object) -> SearchPlan:
    return make_plan(notes.searcher().settings, Query("a puppy", mode="table"), **how)  # type: ignore[arg-type]


def test_no_encoder_sees_the_query(plain: zf.Collection, text: ToyText) -> None:
    text.seen.clear()
    found = plain.search("puppy", query_encoder="table")
    assert [h.id for h in found] == ["a"] and not text.seen
    assert found.settings["left_out"] == ["dense"] and found.settings["fields"] == ["words"]
    assert found[0].score == plain.search("puppy", fields="words")[0].score  # one field left: its own scores
    plain.search("puppy")
    assert text.seen  # the encoder is asked where nobody forbids it


def test_fields_with_a_table_stay_and_are_fused(notes: zf.Collection) -> None:
    for method in (None, "hybrid", "rrf", "linear"):
        plan = planned(notes, method=method)
        assert (plan.fields, plan.left_out) == (("words", "latent"), ("dense",))
        assert plan.fusion is not None


@pytest.mark.parametrize(
    "how", [{"fields": "dense"}, {"method": "two-stage"}, {"method": "late"}, {"method": "fusion"}], ids=str
)
def test_what_cannot_do_without_a_network_is_an_error(notes: zf.Collection, how: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"query_encoder='table' keeps networks away.*use query_encoder='encoder'"):
        planned(notes, **how)


def test_a_named_field_of_terms_is_as_before(notes: zf.Collection) -> None:
    assert planned(notes, fields="latent") == SearchPlan("latent", ("latent",), language="en")
    assert "left_out" not in planned(notes, fields="words").to_json()


def test_other_questions_are_not_about_texts(plain: zf.Collection, text: ToyText) -> None:
    vector = plain.vector("a", "dense")
    plan = make_plan(plain.searcher().settings, Query(vector, mode="table"), fields="dense")
    assert plan == SearchPlan("dense", ("dense",))
