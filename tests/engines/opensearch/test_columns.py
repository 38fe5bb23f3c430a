"""Names and types of metadata columns in an index."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.engines.opensearch.columns import (
    HAS,
    document_columns,
    escape,
    from_mapping,
    index_name,
    properties,
    unescape,
)
from zipfian.errors import IndexCorrupt, LimitExceeded


@given(st.text(max_size=30))
def test_names_come_back(name: str) -> None:
    made = escape(name)
    assert unescape(made) == name
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in made)


def test_types_come_back_from_the_mapping() -> None:
    columns = {
        "a.b": "string", "n": "number", "i": "integer", "ok": "boolean", "d": "date", "tags": "list[string]",
        "sizes": "list[number]", "empty": "list",
    }  # fmt: skip
    names = [*properties(columns), "doc", HAS, "field_words"]  # type: ignore[arg-type]
    assert from_mapping(names, "x") == columns
    assert from_mapping(["m_i_x", "m_n_x", "m_l_y", "m_lb_y"], "x") == {"x": "number", "y": "list[boolean]"}
    with pytest.raises(IndexCorrupt, match="different types"):
        from_mapping(["m_s_x", "m_i_x"], "x")


def test_documents() -> None:
    values, types = document_columns({"d": date(1970, 1, 2), "sizes": [1, 2.5], "none": None, "e": []})
    assert values == {
        HAS: ["d", "sizes", "e"], "m_d_d": 86_400_000_000, "m_ln_sizes": [2.5], "m_li_sizes": [1], "m_l_e": [],
    }  # fmt: skip
    assert types == {
        "m_d_d": "date", "m_ln_sizes": "list[number]", "m_li_sizes": "list[integer]", "m_l_e": "list",
    }  # fmt: skip
    assert index_name("x y", "list[date]") == "m_ld_x_20_y"
    with pytest.raises(LimitExceeded, match="32,766"):
        document_columns({"long": "ä" * 20_000})
