"""A service that asks for a key: the page asks for it once, keeps it for as long as its tab is open, and sends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.page.stage import serving
from zipfian.collection import Collection
from zipfian.serve.keys import hashed, new_key

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request

KEY = new_key()


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over two notes that answers nobody without the key."""
    path = tmp_path_factory.mktemp("locked") / "notes.zf"
    with Collection.create(path) as notes:
        notes.add([{"id": "a", "text": "Plants make food from light."}, {"id": "b", "text": "Cats like food."}])
        notes.commit()
    with serving(str(path), read_keys=(hashed(KEY),)) as address:
        yield address


def give(page: Page, key: str) -> None:
    page.fill("input[name=key]", key)
    with page.expect_navigation():
        page.click(".problem button")


def test_it_is_asked_for_once_and_sent_from_then_on(
    locked: str, page: Page, context: BrowserContext, complaints: list[str]
) -> None:
    sent: list[str | None] = []

    def see(request: Request) -> None:
        if "/v1/" in request.url:
            sent.append(request.headers.get("authorization"))

    page.on("request", see)
    page.goto(f"{locked}/?c=notes&q=food")
    page.wait_for_selector("input[name=key]")
    assert page.locator(".hit").count() == 0
    give(page, "zf_wrong")
    page.wait_for_selector("input[name=key]")  # a wrong one: asked again
    give(page, KEY)
    page.wait_for_selector(".hit")
    page.reload()
    page.wait_for_selector(".hit")
    assert page.locator("input[name=key]").count() == 0
    assert sent[0] is None
    assert sent[-1] == f"Bearer {KEY}"
    kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href, document.body.innerHTML]")
    assert not [place for place in kept if KEY in place]
    other = context.new_page()  # a tab of its own, which nobody has given the key
    other.goto(f"{locked}/?c=notes&q=food")
    other.wait_for_selector("input[name=key]")
    assert all("401" in complaint for complaint in complaints)
    complaints.clear()
