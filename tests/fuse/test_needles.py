"""A document that has every word asked for comes first, though the other field puts it last; and the reasons add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import check_sums
from tests.toys import DIM, ToyText
from zipfian.fuse import Adaptive
from zipfian.types import Encoded

ASKED = "cottage spare key flowerpot"
WORDS = tuple(ASKED.split())
NEEDLE = 31
DOCUMENTS = 50
LOUD = Adaptive({"words": 1.0, "dense": 2.0})
"""The other field outweighs the words: without its reward the document would be last."""


class Contrary(ToyText):
    """An encoder to which the document with all the words is the farthest from the query, the others any distance."""

    def one(self, item: str) -> Encoded:
        made = super().one(item)
        rng = np.random.default_rng(len(item) * 1_000 + sum(item.encode()))
        vector = np.abs(rng.normal(size=DIM)).astype(np.float32)
        if set(WORDS) <= set(item.split()):
            vector = np.ones(DIM, np.float32) if item == ASKED else -np.ones(DIM, np.float32)
        return replace(made, pooled=vector / np.float32(np.linalg.norm(vector)))


def text_of(i: int) -> str:
    """Thirty words of its own, one of the query; one document has all four of them."""
    own = " ".join(f"d{i}w{j}" for j in range(30))
    return f"{own} {' '.join(WORDS) if i == NEEDLE else WORDS[i % len(WORDS)]}"


@pytest.fixture(params=["as written", "reopened"])
def haystack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[zf.Collection]:
    fields = {"words": zf.Words(), "dense": zf.Dense(encoder=Contrary())}
    made = zf.Collection.create(tmp_path / "c.zf", fields, encodings=False)
    made.add({"id": f"d{i}", "text": text_of(i), "metadata": {"half": i % 2}} for i in range(DOCUMENTS))
    made.commit()
    if request.param == "reopened":
        made.close()
        made = zf.Collection.open(tmp_path / "c.zf", encodings=False)
    with made:
        yield made


def nodes(tree: zf.Explanation) -> Iterator[zf.Explanation]:
    yield tree
    for part in tree.parts:
        yield from nodes(part)


@pytest.mark.parametrize("method", [None, LOUD])
@pytest.mark.parametrize("where", [None, {"half": NEEDLE % 2}])
def test_the_document_with_every_word_is_first(
    haystack: zf.Collection, where: dict[str, int] | None, method: Adaptive | None
) -> None:
    among = DOCUMENTS if where is None else DOCUMENTS // 2
    dense = haystack.search(ASKED, k=DOCUMENTS, fields="dense", where=where)
    assert len(dense) == among and dense[-1].id == f"d{NEEDLE}", "the other field has it last"
    found = haystack.search(ASKED, k=DOCUMENTS, method=method, where=where)
    assert len(found) == among and found[0].id == f"d{NEEDLE}"
    assert haystack.search(ASKED, k=1, method=method, where=where)[0].score == found[0].score
    for hit in found:
        assert sum(seen.share for seen in hit.fields.values()) == pytest.approx(hit.score, rel=1e-12, abs=1e-12)
        tree = found.explain(hit)
        check_sums(tree)
        assert tree.value == hit.score
        rewarded = [node for node in nodes(tree) if node.kind == "coverage"]
        assert bool(rewarded) == (hit.id == f"d{NEEDLE}"), "a quarter of the words stands out nowhere"
    (bonus,) = (node for node in nodes(found.explain(found[0])) if node.kind == "coverage")
    assert bonus.field == "words" and bonus.details["covered"] == 1.0
    assert bonus.label == "has every word asked for, which the others have not"
    if method is LOUD:
        assert found[0].score - bonus.value < found[-1].score, "the reward decides"


def test_a_filter_that_leaves_it_out(haystack: zf.Collection) -> None:
    found = haystack.search(ASKED, k=DOCUMENTS, where={"half": 1 - NEEDLE % 2})
    assert len(found) == DOCUMENTS // 2 and f"d{NEEDLE}" not in [hit.id for hit in found]
    assert all(node.kind != "coverage" for hit in found for node in nodes(found.explain(hit)))


def test_without_weight_for_words_nothing_is_rewarded(haystack: zf.Collection) -> None:
    found = haystack.search(ASKED, k=DOCUMENTS, method=Adaptive({"words": 0.0, "dense": 1.0}))
    assert found[-1].id == f"d{NEEDLE}"
