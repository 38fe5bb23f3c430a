"""A service over texts and pictures, and a page of it in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi", reason="NO BROWSER TESTS: pip install 'zipfian[serve]'")
pytest.importorskip("playwright.sync_api", reason="NO BROWSER TESTS: pip install playwright")

from tests.page.stage import browsing, chromium, make_pictures, make_texts, serving
from zipfian.errors import MissingExtra, WeightsNotFound

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

PATIENCE = 20_000
"""Milliseconds that something may take to appear: this machine may be busy."""

Visit = Callable[..., "Page"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("NO BROWSER TESTS: no Chromium on the path (Debian, Ubuntu: apt-get install chromium)")
    with browsing(path) as browser:
        yield browser


@pytest.fixture(scope="package")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of photographs."""
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[str]:
    """A service over `texts` and `photos`."""
    folder = tmp_path_factory.mktemp("served")
    try:
        make_texts(folder / "texts.zf")
        make_pictures(folder / "photos.zf", pictures)
    except (MissingExtra, WeightsNotFound) as error:
        pytest.skip(f"NO BROWSER TESTS: {error}")
    with serving(str(folder / "texts.zf"), str(folder / "photos.zf")) as address:
        yield address


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has seen nothing yet."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of: failed scripts, what the policy forbade. A test that expects some clears it."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    def refuse(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", refuse)
    yield page
    assert complaints == []


@pytest.fixture
def visit(page: Page, address: str) -> Visit:
    """Opens the page in some state: `visit(c="texts", q="json")`."""

    def visit(wait: str = "main", **state: str) -> Page:
        page.goto(f"{address}/?{urlencode(state)}")
        page.wait_for_selector(wait)
        return page

    return visit
