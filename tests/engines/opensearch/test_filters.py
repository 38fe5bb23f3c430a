"""A filter sent to a cluster means what it means in a folder."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.opensearch.pretend import matches
from tests.retrieve.test_filters import SEED_ROW, expressions, naive, rows
from zipfian.engines.opensearch.columns import document_columns
from zipfian.engines.opensearch.filters import to_query
from zipfian.errors import LimitExceeded
from zipfian.index.metadata import check_metadata
from zipfian.limits import MAX_FILTER_GAPS


@given(st.lists(rows, max_size=8), expressions)
def test_the_same_documents_as_the_definition(documents: list[dict[str, Any]], where: dict[str, Any]) -> None:
    documents = [SEED_ROW, *documents]
    columns: Any = {}
    for row in documents:
        _, columns = check_metadata(row, columns)
    query = to_query(where, columns)
    found = [matches(query, "x", document_columns(row)[0]) for row in documents]
    assert found == [naive(where, row) for row in documents]


def test_what_is_sent() -> None:
    columns: Any = {"year": "integer", "price": "number", "tags": "list[string]"}
    assert to_query({"year": {">": 2.5, "<=": 9}}, columns) == {
        "bool": {"filter": [{"range": {"m_i_year": {"gte": 3}}}, {"range": {"m_i_year": {"lte": 9}}}]}
    }
    assert to_query({"year": {"exists": False}}, columns) == {"bool": {"must_not": [{"term": {"zf_has": "year"}}]}}
    assert to_query({"price": {"<": 2**53 + 1}}, columns)["bool"]["should"] == [
        {"range": {"m_n_price": {"lte": 2.0**53}}},
        {"range": {"m_i_price": {"lte": 2**53}}},
    ]
    with pytest.raises(LimitExceeded, match=r"'in' with .* a range each"):
        to_query({"when": {"in": [f"{1 + year:04}-05" for year in range(MAX_FILTER_GAPS + 1)]}}, {"when": "date"})
    with pytest.raises(LimitExceeded, match="'not in'"):
        to_query({"tags": {"not in": [str(i) for i in range(MAX_FILTER_GAPS + 1)]}}, columns)
