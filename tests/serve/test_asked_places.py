"""Patches of the picture that was asked with."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")

from zipfian.fields.base import PostingField
from zipfian.fields.query import Query
from zipfian.limits import MAX_EVIDENCE
from zipfian.serve.asked_places import with_asked_places
from zipfian.types import Explanation

PATCH = {"row": 1, "column": 2, "rows": 3, "columns": 3, "strength": 0.5}


class Seeing(PostingField):
    """A field whose term 7 stands in one patch of every query, and 8 in very many."""

    kind = "seeing"
    reads = "image"
    takes = "image"

    def __init__(self) -> None:
        self.wanted: list[set[Any]] = []

    @property
    def shows_patches(self) -> bool:
        return True

    def query_places(self, query: Query, wanted: Any) -> Any:
        self.wanted.append(set(wanted))
        return {7: [PATCH], 8: [PATCH] * (MAX_EVIDENCE + 1)}


def tree() -> Explanation:
    terms = tuple(
        Explanation(1.0, str(term), evidence=({"row": 0},), kind="term", field=field, term=term)
        for field, term in (("visual", 7), ("visual", 8), ("visual", 9), ("words", "cat"))
    )
    return Explanation(4.0, "sum", (Explanation(4.0, "visual", terms, kind="field", field="visual"),), kind="fusion")


def test_terms_have_the_patches_of_both_pictures() -> None:
    field = Seeing()
    out = with_asked_places(tree(), Query(None, b"picture"), {"visual": field})
    seven, eight, nine, cat = out.parts[0].parts
    assert seven.evidence == ({"row": 0}, {**PATCH, "in": "query"})
    assert len(eight.evidence) == 1 + MAX_EVIDENCE
    assert nine.evidence == cat.evidence == ({"row": 0},)
    assert field.wanted == [{7, 8, 9}]
    assert out.value == 4.0


def test_a_text_has_no_patches_and_no_encoder_is_asked() -> None:
    field = Seeing()
    assert with_asked_places(tree(), Query("a cat"), {"visual": field}) == tree()
    assert field.wanted == []
