"""Hub models as fields of a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from zipfian.encode import hub
from zipfian.fields import Splade

pytestmark = needs_hub

TEXTS = {"a": "a dog sleeps", "b": "the cat eats fish", "c": "red cars on the road"}


def test_a_splade_field(tmp_path: Path) -> None:
    tiny.masked_bert(tmp_path / "model")
    encoder = hub.load(tmp_path / "model", kind="splade")
    with zf.Collection.create(tmp_path / "c.zf", {"splade": Splade(encoder, min_weight=0.0)}, encodings=False) as c:
        c.add({"id": i, "text": t} for i, t in TEXTS.items())
        c.commit()
        found = c.search("cat fish", k=3)
        assert len(found) == 3
        tree = found.explain(found[0])
        assert tree.value == found[0].score == pytest.approx(sum(p.value for p in tree.parts))
        assert c.searcher().settings.postings("splade").scoring == zf.Dot()
    with zf.Collection.open(tmp_path / "c.zf") as again:
        assert [h.score for h in again.search("cat fish", k=3)] == [h.score for h in found]
