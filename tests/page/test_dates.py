"""Dates beside the hits: years, and the months of one year, that narrow the search when they are ticked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.page.stage import serving
from zipfian.collection import Collection

if TYPE_CHECKING:
    from playwright.sync_api import Page

TAKEN = {"a": datetime(2023, 12, 31, 23, 59, 59), "b": datetime(2024, 5, 1, 8, 30), "c": datetime(2024, 6, 1, 9, 30, 1)}
GONE = "![...document.querySelectorAll('.facet label')].some(label => label.textContent.trim() === '2024')"
"""The year is not offered beside its months once it is not ticked."""
KIND = {"a": "png", "b": "jpg", "c": "jpg"}


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("album") / "album.zf"
    with Collection.create(path) as made:
        made.add({"id": i, "text": "a dog", "metadata": {"taken": TAKEN[i], "kind": KIND[i]}} for i in TAKEN)
        made.commit()
    with serving(str(path)) as address:
        yield address


def facet(page: Page, column: str) -> list[str]:
    """What is offered of a column, with its counts."""
    shown = page.locator("fieldset.facet").filter(has=page.locator("legend", has_text=column))
    return [" ".join(text.split()) for text in shown.locator("label").all_inner_texts()]


def hits(page: Page, count: int) -> None:
    """Wait for so many."""
    page.wait_for_function(f"() => document.querySelectorAll('.hit').length === {count}")


def test_a_year_is_ticked_and_stays_when_its_months_are_counted(album: str, page: Page) -> None:
    page.goto(f"{album}/?{urlencode({'c': 'album', 'q': 'dog'})}")
    page.wait_for_selector(".facet")
    assert facet(page, "taken") == ["2024 2", "2023 1"]
    page.locator(".facet label", has_text="2024").locator("input").check()
    hits(page, 2)
    assert facet(page, "taken") == ["2024 2", "2023 1"], "a column counts under the filters of the others"
    page.locator(".facet label", has_text="jpg").locator("input").check()
    page.locator(".facet label", has_text="2024-05").wait_for()
    assert facet(page, "taken") == ["2024", "2024-05 1", "2024-06 1"]
    page.locator(".facet label", has_text="2024").first.locator("input").click()
    page.wait_for_function(f"() => {GONE}")
    page.locator(".facet label", has_text="png").wait_for()  # counted anew: no row moves under the next click
    page.locator(".facet label", has_text="2024-06").locator("input").check()
    hits(page, 1)
    ticked = "() => [...document.querySelectorAll('.facet label:has(:checked) span')].map(span => span.textContent)"
    assert sorted(page.evaluate(ticked)) == ["2024-06", "jpg"]
