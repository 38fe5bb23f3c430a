"""Words that the picture model was never taught are named, and what it would say of them is left out."""

from __future__ import annotations

from typing import Any

import pytest

from zipfian.collection.plan import SearchPlan, make_plan
from zipfian.collection.settings import Settings
from zipfian.fields.named import make_fields
from zipfian.fields.query import Query

pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'zipfian[image]'")


def planned(text: str, names: list[str], **how: Any) -> SearchPlan:
    return make_plan(Settings(make_fields(names)), Query.of(text, None, None, None), **how)


def test_a_word_that_no_caption_had_is_named() -> None:
    plan = planned("a Sunflower and a dog on the beach", ["visual", "translated"])
    assert (plan.unseen, plan.untaught, plan.silent) == (("Sunflower",), (), False)
    assert planned("a dog on the beach", ["visual", "translated"]).unseen == ()


def test_words_in_captions_answer_alone() -> None:
    plan = planned("the lighthouse", ["words", "visual", "translated"])
    assert (plan.fields, plan.fusion, plan.untaught) == (("words",), None, ("translated",))
    assert plan.unseen == ("lighthouse",)


def test_where_nothing_is_left_nothing_is_the_answer() -> None:
    plan = planned("sunflower", ["visual", "translated"])
    assert plan.silent
    assert (plan.unseen, plan.untaught) == (("sunflower",), ("translated",))


@pytest.mark.parametrize("how", [{"fields": "translated"}, {"method": "translated"}])
def test_a_field_that_is_named_is_asked_all_the_same(how: dict[str, Any]) -> None:
    plan = planned("sunflower", ["visual", "translated"], **how)
    assert (plan.fields, plan.unseen, plan.silent) == (("translated",), ("sunflower",), False)
