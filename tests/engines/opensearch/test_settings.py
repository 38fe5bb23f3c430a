"""What an index says about itself is no more trusted than a manifest."""

from __future__ import annotations

from typing import Any

import pytest

from zipfian.collection.settings import Settings
from zipfian.collection.trust import Trust
from zipfian.engines.opensearch.client import Server
from zipfian.engines.opensearch.codes import codes_from_json
from zipfian.engines.opensearch.mapping import Layout, read
from zipfian.errors import IndexCorrupt, InvalidInput, ZipfianError
from zipfian.fields.named import make_fields


def index() -> dict[str, Any]:
    """As `GET /index` gives it."""
    layout = Layout.choose(Settings(make_fields(["words"])), Server("opensearch", "2.17.0"), None, 1, 0, "-1")
    body: dict[str, Any] = layout.body()
    body["settings"]["index"]["analysis"] = body["settings"].pop("analysis")
    return body


def about(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["mappings"]["_meta"]["zipfian"]
    return found


def test_an_honest_index_is_read_with_what_its_reader_allows() -> None:
    trust = Trust(frozenset({"some/model"}))
    layout, _ = read(index(), "here", trust)
    assert layout.settings.trust is trust and list(layout.settings.fields) == ["words"]


@pytest.mark.parametrize("wrong", [None, 1, [], "x", {"version": 1}, {"version": 1, "fields": [], "columns": {}}])
def test_settings_that_are_none(wrong: Any) -> None:
    body = index()
    about(body)["settings"] = wrong
    with pytest.raises(IndexCorrupt, match="here"):
        read(body, "here")


@pytest.mark.parametrize(
    "wrong", [None, [], {"words": None}, {"words": {"storage": "x", "steps": 1}}, {"words": {"storage": "repeated"}}]
)
def test_codes_that_are_none(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        codes_from_json(wrong)
    body = index()
    about(body)["codes"] = wrong
    with pytest.raises(ZipfianError):
        read(body, "here")


@pytest.mark.parametrize("steps", [float("nan"), float("inf"), -1.0, True, "1", 10**400])
def test_steps_are_a_number(steps: Any) -> None:
    with pytest.raises(InvalidInput, match="steps"):
        codes_from_json({"words": {"storage": "repeated", "steps": steps}})
