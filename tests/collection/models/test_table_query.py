"""`query="table"` keeps networks out of the whole search, not only out of the latent leg."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS
from tests.toys import ToyText
from zipfian import Leg
from zipfian.collection.plan import Plan, make_plan
from zipfian.collection.question import Question
from zipfian.errors import InvalidInput


@pytest.fixture
def plain(tmp_path: Path, text: ToyText) -> zf.Collection:
    """Words and vectors: what the table leaves, and what it does not."""
    legs = {"words": Leg.words(), "dense": Leg.dense(encoder=text)}
    made = zf.Collection.create(tmp_path / "plain.zf", legs, encodings=False)
    made.add({"id": i, "text": t} for i, t in TEXTS.items())
    made.commit()
    return made


def planned(notes: zf.Collection, **how: object) -> Plan:
    return make_plan(notes.view().settings, Question("a puppy", mode="table"), **how)  # type: ignore[arg-type]


def test_no_encoder_sees_the_query(plain: zf.Collection, text: ToyText) -> None:
    text.seen.clear()
    found = plain.search("puppy", query="table")
    assert [h.id for h in found] == ["a"] and not text.seen
    assert found.settings["left_out"] == ["dense"] and found.settings["legs"] == ["words"]
    assert found[0].score == plain.search("puppy", leg="words")[0].score  # one leg left: its own scores
    plain.search("puppy")
    assert text.seen  # the encoder is asked where nobody forbids it


def test_legs_with_a_table_stay_and_are_fused(notes: zf.Collection) -> None:
    for method in (None, "hybrid", "rrf", "linear"):
        plan = planned(notes, method=method)
        assert (plan.legs, plan.left_out) == (("words", "latent"), ("dense",))
        assert plan.fusion is not None


@pytest.mark.parametrize(
    "how", [{"leg": "dense"}, {"method": "two-stage"}, {"method": "late"}, {"method": "fusion"}], ids=str
)
def test_what_cannot_do_without_a_network_is_an_error(notes: zf.Collection, how: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"query='table' keeps networks away.*use query='encoder'"):
        planned(notes, **how)


def test_a_named_leg_of_terms_is_as_before(notes: zf.Collection) -> None:
    assert planned(notes, leg="latent") == Plan("latent", ("latent",))
    assert "left_out" not in planned(notes, leg="words").to_json()


def test_other_questions_are_not_about_texts(plain: zf.Collection, text: ToyText) -> None:
    vector = plain.vector("a", "dense")
    plan = make_plan(plain.view().settings, Question(vector, mode="table"), leg="dense")
    assert plan == Plan("dense", ("dense",))
