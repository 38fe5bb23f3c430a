"""Documents and the index that holds them: what is sent, and what is refused when it was changed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from zipfian.collection.settings import Settings
from zipfian.engines.opensearch.client import Server
from zipfian.engines.opensearch.documents import Writer, pack, unpack
from zipfian.engines.opensearch.mapping import Layout, read
from zipfian.errors import FingerprintMismatch
from zipfian.fields import Sparse, Words
from zipfian.fields.item import Item
from zipfian.retrieve.scoring import Dot

FIELDS = {"words": Words(), "codes": Sparse(50), "dot": Sparse(50, tf="count", scoring=Dot())}
LAYOUT = Layout.choose(Settings(FIELDS), Server("opensearch", "2.19.1"), None, 2, 0, "-1")


def source(text: str | None, terms: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    item = Item("a", text, terms or {}, more.get("vectors", {}), more.get("metadata", {}), 0)
    return Writer(FIELDS, LAYOUT.codes).source(item, 17)[0]


def test_a_document_that_has_all() -> None:
    terms = {
        "codes": (np.array([3, 7], np.int32), np.array([150, 25], np.uint32)),
        "dot": (np.array([1], np.int32), np.array([4], np.uint32)),
    }
    found = source("red red apple", terms, vectors={"v": np.array([1.0, -2.5], np.float32)}, metadata={"n": 3})
    assert found == {
        "zf_seq": 17, "doc": {"text": "red red apple", "meta": '{"n":3}'}, "zf_has": ["n"], "m_i_n": 3,
        "zf_words": 3.0, "field_words": "red|2 appl|1", "field_codes": "3|150 7|25", "field_dot": "1|4",
        "v_2_v": pack(np.array([1.0, -2.5], np.float32)),
    }  # fmt: skip
    assert unpack(found["v_2_v"].rstrip("=")).tolist() == [1.0, -2.5]


@pytest.mark.parametrize("text", [None, "", "..."])
def test_a_document_without_terms_is_counted_all_the_same(text: str | None) -> None:
    """BM25 needs N and the mean length over all documents, and a server counts those that have the column."""
    found = source(text)
    assert (found["field_words"], found["field_codes"], found["zf_words"]) == ("%|1", "%|1", 0.0)
    assert "field_dot" not in found, "a dot product knows no N"


def stored() -> dict[str, Any]:
    """The index as a server gives it back."""
    body = copy.deepcopy(LAYOUT.body())
    index = {**body["settings"]["index"], "analysis": body["settings"]["analysis"]}
    return {"settings": {"index": index}, "mappings": body["mappings"]}


def test_an_index_is_opened_as_it_was_made() -> None:
    layout, columns = read(stored(), "x")
    assert (layout.codes, layout.shards, layout.replicas, layout.refresh) == (LAYOUT.codes, 2, 0, "-1")
    assert columns == {}
    as_text = stored()
    similarity = as_text["settings"]["index"]["similarity"]["zf_words"]
    similarity |= {"k1": str(similarity["k1"]), "b": f"{similarity['b']:.3f}"}
    assert read(as_text, "x")[0].codes == LAYOUT.codes, "servers give numbers back as text"


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        (("settings", "index", "similarity", "zf_words", "k1"), 1.2, "similarity"),
        (("settings", "index", "similarity", "zf_dot", "script", "source"), "return 1.0;", "similarity"),
        (("settings", "index", "analysis", "filter", "zf_tf", "delimiter"), ":", "analysis"),
        (("mappings", "properties", "field_words", "similarity"), "BM25", "column field_words"),
        (("mappings", "properties", "field_dot", "norms"), True, "column field_dot"),
    ],
)
def test_an_index_changed_by_hand_is_refused(place: tuple[str, ...], value: Any, what: str) -> None:
    found = stored()
    inner: Any = found
    for key in place[:-1]:
        inner = inner[key]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    with pytest.raises(FingerprintMismatch, match=f"the {what} of this index"):
        read(found, "x")
