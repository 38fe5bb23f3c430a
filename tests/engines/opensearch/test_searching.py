"""What a reader asks of a server and makes of its answers: a pretended one; the real one is in tests/cluster."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.engines.opensearch.pretend import Pretend
from zipfian import BM25
from zipfian.collection.settings import Settings
from zipfian.engines.opensearch import reader as reading
from zipfian.engines.opensearch.codes import FieldCode
from zipfian.engines.opensearch.documents import pack
from zipfian.engines.opensearch.explanation import Matched, parse
from zipfian.engines.opensearch.reader import Reader
from zipfian.engines.opensearch.retrievers import PostingsRetriever
from zipfian.engines.opensearch.vectorquery import VectorRetriever
from zipfian.errors import LimitExceeded
from zipfian.fields import Dense, Sparse, Words
from zipfian.fields.query import Query

FIELDS = {"codes": Sparse(1_000, scoring=BM25(k1=1.5, b=0.75)), "dense": Dense(vector="dense")}


def read(server: Pretend) -> Reader:
    codes = {"codes": FieldCode("frequencies", 1.0)}
    return Reader(server, Settings(FIELDS), codes, {"dense": 2})  # type: ignore[arg-type]


def test_pages_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten hits in pages of four, some with equal scores: every document once, best first, ties in document order."""
    monkeypatch.setattr(reading, "PAGE", 4)
    frequencies = [3, 1, 2, 3, 2, 1, 1, 2, 3, 1]
    server = Pretend({f"d{i}": {"zf_seq": i, "field_codes": f"7|{tf}"} for i, tf in enumerate(frequencies)})
    docs, scores = read(server).top({"term": {"field_codes": {"value": "7", "boost": 0.5}}}, 10)
    assert docs.tolist() == [0, 3, 8, 2, 4, 7, 1, 5, 6, 9]
    assert scores.tolist() == [1.5] * 3 + [1.0] * 3 + [0.5] * 4
    assert [body["size"] for body in server.asked] == [4, 4, 2]


def test_a_query_with_too_many_terms_keeps_those_that_can_add_most() -> None:
    """300 terms where the cluster takes 100 clauses, 8 of them kept back: 92 stay, by weight x idf."""
    rare, common = range(150), range(150, 300)
    documents = {f"d{i}": {"zf_seq": i, "field_codes": " ".join(f"{t}|1" for t in [*common, i])} for i in rare}
    server = Pretend(documents, clauses=100)
    weights = {t: 1.0 + (t * 37 % 101) / 100.0 for t in range(300)}
    query = PostingsRetriever(read(server), "codes", Query(weights))
    sent = [int(c["term"]["field_codes"]["value"]) for c in query.query(None)["bool"]["should"]]
    idf = {t: math.log(1 + (150 - df + 0.5) / (df + 0.5)) for t in range(300) for df in [1 if t in rare else 150]}
    bound = {t: weights[t] * idf[t] for t in range(300)}
    kept = sorted(sorted(bound, key=lambda t: (-bound[t], t))[:92])
    assert sent == kept
    assert query.cut is not None and (query.cut.terms, query.cut.kept) == (300, 92)
    assert query.cut.loss == pytest.approx(1 - sum(bound[t] for t in kept) / sum(bound.values()), rel=1e-6)
    with pytest.raises(LimitExceeded, match="the filter alone has 95 clauses"):
        query.query({"bool": {"should": [{"term": {"m_s_x": str(i)}} for i in range(95)]}})
    assert len(query.query(None)["bool"]["should"]) == 92, "a filter that was refused costs nothing"
    filtered = query.query({"bool": {"should": [{"term": {"m_s_x": str(i)}} for i in range(20)]}})
    assert len(filtered["bool"]["should"]) == 72
    assert query.query(None)["bool"]["should"] == filtered["bool"]["should"], "scored and explained by the same terms"


def test_boosts_are_the_given_weights_on_the_servers_scale() -> None:
    """A server before 3 multiplies by k1 + 1 itself, so nothing is left to do at 1 step to a weight of 1."""
    query = PostingsRetriever(read(Pretend({})), "codes", Query({3: 2.0, 5: 0.25}))
    assert query.query({"term": {"m_s_x": "y"}}) == {
        "bool": {
            "should": [
                {"term": {"field_codes": {"value": "3", "boost": 2.0}}},
                {"term": {"field_codes": {"value": "5", "boost": 0.25}}},
            ],
            "minimum_should_match": 1,
            "filter": [{"term": {"m_s_x": "y"}}],
        }
    }


def test_what_32_bits_put_in_another_order_is_sorted_out() -> None:
    """Forty vectors of which the last is best by 2e-7; the server's rough score puts it behind all others."""
    angle = math.acos(0.5)
    near = np.array([0.5, math.sin(angle)], np.float32)
    best = np.array([0.5 + 2e-7, math.sin(angle)], np.float32)
    documents = {f"d{i}": {"zf_seq": i, "v_2_dense": pack(best if i == 39 else near)} for i in range(40)}
    server = Pretend(documents, rough=lambda doc_id: 1.5 - (3e-7 if doc_id == "d39" else 0.0))
    found = VectorRetriever(read(server), "dense", Query(np.array([1.0, 0.0], np.float32)))
    docs, scores = found.search(1, None)
    assert docs.tolist() == [39]
    assert scores[0] == pytest.approx(float(best[0]) / math.hypot(*best.astype(float)), rel=1e-12)
    sizes = [body["size"] for body in server.asked if "script_score" in body["query"]]
    assert sizes == [17, 34, 40], "until none is left that could be better"


def test_a_clear_winner_is_asked_for_once() -> None:
    documents = {f"d{i}": {"zf_seq": i, "v_2_dense": pack(np.array([1.0, i], np.float32))} for i in range(40)}
    server = Pretend(documents, rough=lambda doc_id: 1.0 + 1.0 / math.hypot(1.0, int(doc_id[1:])))
    found = VectorRetriever(read(server), "dense", Query(np.array([1.0, 0.0], np.float32)))
    assert found.search(2, None)[0].tolist() == [0, 1]
    assert [body["size"] for body in server.asked if "script_score" in body["query"]] == [18]


def node(value: float, description: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"value": value, "description": description, "details": list(details)}


def test_the_engines_account_of_a_score() -> None:
    """As OpenSearch 2.19 words it: two terms of the field asked for, and one of another field beside them."""

    def bm25(field: str, token: str, value: float, n: int, freq: float) -> dict[str, Any]:
        return node(
            value, f"weight({field}:{token} in 3) [PerFieldSimilarity], result of:",
            node(
                value, "score(freq=2.0), computed as boost * idf * tf from:",
                node(2.2, "boost"),
                node(
                    0.7, "idf, computed as log(1 + (N - n + 0.5) / (n + 0.5)) from:",
                    node(n, "n, number of documents containing term"),
                    node(12, "N, total number of documents with field"),
                ),
                node(
                    0.4, "tf, computed as freq / (freq + k1 * (1 - b + b * dl / avgdl)) from:",
                    node(freq, "freq, occurrences of term within document"),
                    node(1.2, "k1, term saturation parameter"),
                    node(9.0, "dl, length of field"),
                    node(6.5, "avgdl, average length of field"),
                ),
            ),
        )  # fmt: skip

    told = node(
        3.75, "sum of:", bm25("field_words", "plant", 1.5, 4, 2.0), bm25("field_title", "plant", 0.25, 1, 1.0),
        bm25("field_words", "a%7Cb", 2.0, 5, 3.0),
    )  # fmt: skip
    assert parse(told, "field_words", Words()) == [
        Matched("plant", 1.5, 2.0, 4, 12, 0.7, 9.0, 6.5),
        Matched("a|b", 2.0, 3.0, 5, 12, 0.7, 9.0, 6.5),
    ]
    assert [m.value for m in parse(told, "field_title", Words())] == [0.25]
    assert parse(told, "field_other", Words()) == []
